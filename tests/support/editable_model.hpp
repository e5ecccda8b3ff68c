// A model folder to be damaged on purpose: read, changed, written somewhere else.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "io/weight_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::test {

struct EditableModel {
  struct Stored {
    std::string dtype;
    Shape shape;
    std::string bytes;
  };

  nlohmann::ordered_json config;
  std::map<std::string, Stored> tensors;
  std::string recipe;  ///< preprocessor_config.json; empty: none

  static std::filesystem::path folder_of(const std::string& name) {
    return std::filesystem::path(VITRINE_TEST_DATA) / "models" / name;
  }

  /// What to load of a folder of tests/data/models: itself, or the weights that expected.safetensors lies
  /// beside.
  static std::filesystem::path path_of(const std::string& name) {
    for (const char* file : {"vit.pth", "weights.pth", "weights.npz"}) {
      if (std::filesystem::exists(folder_of(name) / file)) return folder_of(name) / file;
    }
    return folder_of(name);
  }

  /// Weights of any format; without a config.json, `config` is empty.
  explicit EditableModel(const std::string& name) {
    const std::string text = read_text(folder_of(name) / "config.json");
    config = text.empty() ? nlohmann::ordered_json::object() : nlohmann::ordered_json::parse(text);
    recipe = read_text(folder_of(name) / "preprocessor_config.json");
    const io::WeightFiles files(io::locate_model(path_of(name)));
    for (const auto& [key, entry] : files.tensors()) {
      tensors[key] = {entry.tensor->dtype, entry.tensor->shape, std::string(as_text(entry.tensor->data))};
    }
  }

  void rename(const std::string& from, const std::string& to) {
    auto node = tensors.extract(from);
    if (node.empty()) throw std::runtime_error("no tensor " + from);
    node.key() = to;
    tensors.insert(std::move(node));
  }

  /// Every part `from` of a name becomes `to`.
  void rename_all(const std::string& from, const std::string& to) {
    std::map<std::string, Stored> renamed;
    for (auto& [name, tensor] : tensors) {
      std::string copy = name;
      if (const auto at = copy.find(from); at != std::string::npos) copy.replace(at, from.size(), to);
      renamed[copy] = std::move(tensor);
    }
    tensors = std::move(renamed);
  }

  /// A tensor of zeros.
  void add(const std::string& name, const Shape& shape, const std::string& dtype = "F32") {
    const std::size_t size = dtype == "I64" || dtype == "F64" ? 8 : dtype == "F32" ? 4 : 2;
    tensors[name] = {dtype, shape, std::string(static_cast<std::size_t>(element_count(shape)) * size, '\0')};
  }

  static std::string safetensors(const std::map<std::string, Stored>& tensors) {
    nlohmann::json header = nlohmann::json::object();
    std::string data;
    for (const auto& [name, t] : tensors) {
      header[name] = {{"dtype", t.dtype},
                      {"shape", t.shape},
                      {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
      data += t.bytes;
    }
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return bytes + text + data;
  }

  void write(const TempFolder& folder) const {
    if (!config.empty()) folder.write("config.json", config.dump(2));
    if (!recipe.empty()) folder.write("preprocessor_config.json", recipe);
    folder.write("model.safetensors", safetensors(tensors));
  }
};

}  // namespace vit::test
