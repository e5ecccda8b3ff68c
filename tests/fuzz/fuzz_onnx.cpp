// Any bytes are either a model.onnx that can be taken apart, all of whose weights can be read, or an Error
// that does not blame Vitrine: never anything else.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "export/onnx_check.hpp"
#include "export/onnx_file.hpp"
#include "export/onnx_import.hpp"
#include "export/onnx_run.hpp"
#include "io/model_metadata.hpp"
#include "vit/error.hpp"

namespace {

/// A file in memory; read_onnx takes paths.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("fuzz", 0)) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t written = ::write(descriptor_, data + done, size - done);
      if (written <= 0) std::abort();
      done += static_cast<std::size_t>(written);
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

template <class Step>
void attempt(Step&& step) {
  try {
    step();
  } catch (const vit::Error& error) {
    if (error.code() == vit::ErrorCode::internal) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace exporter = vit::exporter;
  const MemoryFile bytes(data, size);
  attempt([&] {
    const auto file = std::make_shared<const exporter::OnnxFile>(exporter::read_onnx(bytes.path()));
    const exporter::Graph& graph = file->graph;
    for (const exporter::Initializer& initializer : graph.initializers) {
      if (!initializer.fill) continue;
      std::vector<std::byte> content(static_cast<std::size_t>(initializer.bytes()));
      initializer.fill(content.data());
    }
    attempt([&] { exporter::check_structure(graph); });
    if (!file->unsupported.empty()) return;
    attempt([&] { const exporter::GraphRunner runner(graph, 1); });
    attempt([&] {
      exporter::require_ours(*file);
      const vit::io::CheckpointInfo info = vit::io::read_metadata(bytes.path(), graph.metadata);
      vit::Weights weights = exporter::read_weights(file, info.config);
      vit::for_each_tensor(info.config, weights,
                           [](const vit::TensorSpec& spec, const vit::WeightView& view) {
                             if (view.to_tensor().size() != vit::element_count(spec.shape)) std::abort();
                           });
    });
  });
  return 0;
}
