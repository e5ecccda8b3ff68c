#include "apps/picture_folders.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/label_folders.hpp"
#include "io/draw_labels.hpp"
#include "io/folder_listing.hpp"
#include "io/picture_writer.hpp"
#include "vit/file.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".vitrine-unfinished";
/// Of pictures all of whose labels are below --threshold.
constexpr const char* kNoLabel = "no-label";

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(ErrorCode::output_unwritable, fmt::format("{}: {}", path.native(), what));
}

/// Copies and links whole files; what is no file (a frame, a picture of an archive) is written.
class SortedFolder : public PictureFolder {
 public:
  enum class With { link, copy };

  SortedFolder(fs::path folder, With with, const io::Labels& labels)
      : folder_(std::move(folder)), with_(with), names_(label_folders(labels)) {}

  std::vector<std::byte> make(const io::ClassifiedPicture& picture, const Row& row) const override {
    return row.frame ? io::encode_png(picture.image) : picture.bytes;
  }

  void put(const Row& row, const std::string& name, const std::vector<std::byte>& file) override {
    const fs::path folder = folder_ / folder_of(row);
    make_folder(folder);
    const std::string extension = row.frame ? ".png" : fs::path(row.input).extension().native();
    const fs::path path = folder / (name + extension);
    if (!file.empty()) {
      write_file_atomically(path, file);
    } else if (with_ == With::link) {
      link(row.input, path);
    } else {
      std::error_code error;
      fs::copy_file(row.input, path, fs::copy_options::overwrite_existing, error);
      if (error) fail(path, fmt::format("{} cannot be copied here: {}", row.input, error.message()));
    }
  }

 private:
  std::string folder_of(const Row& row) const {
    if (row.predictions.empty()) return kNoLabel;
    return names_[static_cast<std::size_t>(row.predictions.front().index)];
  }

  static void link(const std::string& picture, const fs::path& path) {
    std::error_code error;
    const fs::path target = fs::absolute(picture, error);
    std::error_code ignored;
    if (fs::read_symlink(path, ignored) == target) return;  // of the run that is gone on with
    if (!error) fs::create_symlink(target, path, error);
    if (error)
      fail(path, fmt::format("no link to {} can be made: {}; --sort-with copy makes copies", picture,
                             error.message()));
  }

  fs::path folder_;
  With with_;
  std::vector<std::string> names_;
};

class AnnotatedFolder : public PictureFolder {
 public:
  explicit AnnotatedFolder(fs::path folder) : folder_(std::move(folder)) {}

  std::vector<std::byte> make(const io::ClassifiedPicture& picture, const Row& row) const override {
    std::vector<std::string> lines;
    for (const LabelledPrediction& p : row.predictions)
      lines.push_back(fmt::format("{:.4f} {}", p.score, p.label));
    const io::Image drawn = io::draw_labels(picture.image, lines);
    return is_jpeg(row) ? io::encode_jpeg(drawn) : io::encode_png(drawn);
  }

  void put(const Row& row, const std::string& name, const std::vector<std::byte>& file) override {
    write_file_atomically(folder_ / (name + (is_jpeg(row) ? ".jpg" : ".png")), file);
  }

 private:
  /// What came as a JPEG, or in a video, is not worth the size of a PNG.
  static bool is_jpeg(const Row& row) {
    return row.frame.has_value() ||
           io::has_extension(row.input, std::array<std::string_view, 2>{".jpg", ".jpeg"});
  }

  fs::path folder_;
};

/// Whether there is anything but what an interrupted run may have left.
bool is_occupied(const fs::path& folder, PictureFolders::Existing existing) {
  std::error_code error;
  if (!fs::exists(folder, error)) return false;
  bool marked = false;
  bool others = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    (entry.path().filename() == kUnfinished ? marked : others) = true;
    if (marked && others) break;
  }
  return others && !(marked && existing == PictureFolders::Existing::continued);
}

/// What is half written belongs to a run that was killed: folders are not shared.
void remove_temporaries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator entry(folder, error), end; entry != end && !error;
       entry.increment(error)) {
    if (AtomicFile::is_temporary(entry->path())) found.push_back(entry->path());
  }
  for (const fs::path& file : found) fs::remove(file, error);
}

fs::path prepare(const char* option, const std::string& folder, const InputArguments& inputs,
                 PictureFolders::Existing existing) {
  if (is_occupied(folder, existing)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {}: the folder is not empty; name a new one{}", option, folder,
                            existing == PictureFolders::Existing::continued
                                ? ": this is not what the interrupted run has left"
                                : ""));
  }
  make_output_folder(option, folder, inputs);
  remove_temporaries(folder);
  write_file_atomically(fs::path(folder) / kUnfinished, std::string_view());
  return folder;
}

}  // namespace

void add_picture_folder_options(CLI::App& command, PictureFolderOptions& options) {
  const Section section(command, "Output");
  auto* const sort =
      command.add_option("--sort-into", options.sort_into,
                         "make a new folder with a folder for each label, and in it links to the "
                         "pictures whose best label it is");
  command.add_option("--sort-with", options.sort_with, "link or copy")
      ->check(CLI::IsMember({"link", "copy"}))
      ->capture_default_str()
      ->needs(sort);
  command.add_option("--annotate", options.annotate,
                     "make a new folder with copies of the pictures, their labels drawn on them");
}

PictureFolders::PictureFolders(const PictureFolderOptions& options, const InputArguments& inputs,
                               const io::Labels& labels, Existing existing) {
  if (!options.sort_into.empty()) {
    paths_.push_back(prepare("--sort-into", options.sort_into, inputs, existing));
    const auto with = options.sort_with == "copy" ? SortedFolder::With::copy : SortedFolder::With::link;
    folders_.push_back(std::make_unique<SortedFolder>(paths_.back(), with, labels));
  }
  if (!options.annotate.empty()) {
    paths_.push_back(prepare("--annotate", options.annotate, inputs, existing));
    folders_.push_back(std::make_unique<AnnotatedFolder>(paths_.back()));
  }
}

io::Attachments PictureFolders::make(const io::ClassifiedPicture& picture, const Row& row) const {
  io::Attachments files;
  for (const auto& folder : folders_) files.push_back(folder->make(picture, row));
  return files;
}

void PictureFolders::skip(const io::Input& input) {
  if (!folders_.empty()) names_.name_for(input.name, input.frame);
}

void PictureFolders::put(const Row& row, const io::Attachments& files) {
  if (folders_.empty()) return;
  const std::string name = names_.name_for(row.input, row.frame);
  if (row.error) return;
  for (std::size_t i = 0; i < folders_.size(); ++i) folders_[i]->put(row, name, files[i]);
}

void PictureFolders::finish() {
  std::error_code ignored;
  for (const fs::path& path : paths_) fs::remove(path / kUnfinished, ignored);
}

}  // namespace vit::apps
