#include "io/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <istream>
#include <system_error>

#include "io/folder_listing.hpp"
#include "io/glob.hpp"

namespace vit::io {
namespace fs = std::filesystem;
namespace {

/// Pictures of a stream that are in memory before they are asked for.
constexpr std::size_t kStreamedAhead = 8;

}  // namespace

InputSource::InputSource(std::vector<std::string> arguments, const InputOptions& options)
    : arguments_(arguments.begin(), arguments.end()), options_(options) {}

std::optional<Input> InputSource::next() {
  while (ready_.empty())
    if (!produce(Wait::yes)) return std::nullopt;
  Input input = std::move(ready_.front());
  ready_.pop_front();
  ++given_;
  update_total();
  return input;
}

std::size_t InputSource::look_ahead(std::size_t most) {
  while (ready_.size() < (stream_ ? std::min(most, kStreamedAhead) : most)) {
    if (!produce(Wait::no)) break;
  }
  return std::min(ready_.size(), most);
}

std::optional<std::int64_t> InputSource::total() const {
  const std::int64_t total = total_;
  return total == kUnknown ? std::nullopt : std::optional(total);
}

void InputSource::update_total() {
  const std::optional<std::int64_t> streamed = stream_ ? stream_->remaining() : 0;
  if (reading_list_ || !arguments_.empty() || !streamed) {
    total_ = kUnknown;
    return;
  }
  const std::int64_t to_come = *streamed + std::ssize(names_);
  total_ = given_ + std::ssize(ready_) + (to_come + options_.shard.count - 1) / options_.shard.count;
}

/// One step towards a ready input, or false if there are no more (for now, unless it may wait).
bool InputSource::produce(Wait wait) {
  if (stream_) {
    if (std::optional<Input> input = stream_->next()) {
      add(std::move(*input));
    } else {
      stream_.reset();
    }
    return true;
  }
  if (!names_.empty()) {
    std::string name = std::move(names_.front());
    names_.pop_front();
    open(std::move(name));
    return true;
  }
  if (reading_list_) return produce_from_list(wait);
  if (arguments_.empty()) return false;
  const std::string argument = std::move(arguments_.front());
  arguments_.pop_front();
  expand(argument);
  return true;
}

bool InputSource::produce_from_list(Wait wait) {
  if (wait == Wait::yes) {
    wait_for_lines();
    return true;
  }
  take_lines();
  return !names_.empty();
}

void InputSource::expand(const std::string& argument) {
  std::error_code ignored;  // what cannot be looked at is passed on: reading it gives the error
  if (argument == "-" && options_.list != nullptr) {
    reading_list_ = true;
  } else if (is_glob(argument) && !fs::exists(fs::symlink_status(argument, ignored))) {
    expand_pattern(argument);
  } else if (fs::is_directory(argument, ignored)) {
    expand_folder(argument);
  } else {
    names_.push_back(argument);
  }
}

void InputSource::expand_folder(const std::string& folder) {
  try {
    for (std::string& picture : list_pictures(folder, options_.recursive))
      names_.push_back(std::move(picture));
  } catch (const Error& e) {
    fail(folder, e);
  }
}

void InputSource::expand_pattern(const std::string& pattern) {
  std::vector<std::string> found = expand_glob(pattern);
  if (found.empty()) {
    fail(pattern,
         Error(ErrorCode::no_input,
               fmt::format("{}: there is no file of this name, and none that matches the pattern", pattern)));
  }
  // In front of the other arguments, as if a shell had written them there: some may be folders.
  for (auto name = found.rbegin(); name != found.rend(); ++name) arguments_.push_front(std::move(*name));
}

void InputSource::open(std::string name) {
  stream_ = open_picture_stream(name, options_.frames);
  if (!stream_) add({std::move(name)});
}

void InputSource::fail(const std::string& name, const Error& error) {
  add({name, error});
}

/// To what is ready, unless it belongs to another shard.
void InputSource::add(Input input) {
  if (count_++ % options_.shard.count == options_.shard.number - 1) ready_.push_back(std::move(input));
}

/// Until there is at least one, or the list has ended.
void InputSource::wait_for_lines() {
  std::string rest;
  if (std::getline(*options_.list, rest)) {
    unfinished_ += rest;
    if (!options_.list->eof()) unfinished_ += '\n';
  }
  if (!options_.list->good()) {
    reading_list_ = false;
    unfinished_ += '\n';  // which the last line may lack
  }
  finish_lines();
}

/// What is there, as much as a buffer holds.
void InputSource::take_lines() {
  std::array<char, 1 << 16> buffer;
  const std::streamsize count = options_.list->readsome(buffer.data(), buffer.size());
  unfinished_.append(buffer.data(), static_cast<std::size_t>(std::max<std::streamsize>(count, 0)));
  finish_lines();
}

void InputSource::finish_lines() {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = unfinished_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string line = unfinished_.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names_.push_back(std::move(line));
  }
  unfinished_.erase(0, begin);
}

}  // namespace vit::io
