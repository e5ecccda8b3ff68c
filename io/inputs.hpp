// INPUT arguments -> one picture after the other: files, folders, patterns, archives, videos, lists of paths.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/input.hpp"
#include "io/input_sequence.hpp"
#include "io/picture_stream.hpp"

namespace vit::io {

/// One of `count` parts of all inputs: the `number`-th (from 1) and every `count`-th after it.
struct Shard {
  std::int64_t number = 1;
  std::int64_t count = 1;
};

struct InputOptions {
  bool recursive = false;  ///< look into sub-folders too
  /// Where "-" reads its paths from, one a line. Its buffer should know what has come: std::cin's does after
  /// std::ios::sync_with_stdio(false).
  std::istream* list = nullptr;
  FrameOptions frames = {};
  Shard shard = {};
};

/// Expands arguments lazily, so that a list is answered as it comes and a folder is read only when its turn
/// has come.
///
/// A file is passed on unseen: whether it is a picture shows when it is decoded. A folder gives its pictures
/// (io/folder_listing.hpp), one without pictures or that cannot be read one Input with an error. An argument
/// that is no file but has the form of a pattern (io/glob.hpp) stands for what it matches. Archives (.tar,
/// also compressed) give the pictures in them, videos and camera:N their frames. A line of a list is a file,
/// an archive or a video. Not thread-safe.
class InputSource : public InputSequence {
 public:
  InputSource(std::vector<std::string> arguments, const InputOptions& options);

  /// Waits for "-".
  std::optional<Input> next() override;
  /// Of a list, the lines that are there: it is not waited for.
  std::size_t look_ahead(std::size_t most) override;
  std::optional<std::int64_t> total() const override;

 private:
  enum class Wait { no, yes };
  static constexpr std::int64_t kUnknown = -1;

  bool produce(Wait wait);
  bool produce_from_list(Wait wait);
  void open(std::string name);
  void expand(const std::string& argument);
  void expand_folder(const std::string& folder);
  void expand_pattern(const std::string& pattern);
  void add(Input input);
  void fail(const std::string& name, const Error& error);
  void wait_for_lines();
  void take_lines();
  void finish_lines();
  void update_total();

  std::deque<std::string> arguments_;
  InputOptions options_;
  std::deque<std::string> names_;  // files, of which some may be streams
  std::unique_ptr<PictureStream> stream_;
  std::deque<Input> ready_;
  std::int64_t count_ = 0;  // of inputs so far, those of other shards too
  bool reading_list_ = false;
  std::string unfinished_;  // a line of the list whose end has not come yet
  std::int64_t given_ = 0;
  std::atomic<std::int64_t> total_{kUnknown};
};

}  // namespace vit::io
