// JPEG through libjpeg-turbo: accurate integer DCT and smooth chroma upsampling, as Pillow leaves them.
#include <fmt/format.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs FILE
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

#include "io/exif.hpp"
#include "io/image_formats.hpp"

namespace vit::io::internal {
namespace {

constexpr int max_scans = 500;  // progressive files beyond that only burn time (libjpeg-turbo's own advice)

/// A decompressor whose errors come back as `false`, with code() and message() saying what happened.
///
/// libjpeg reports errors by a function that must not return, so the steps below leave through longjmp. No
/// step has an object with a destructor on its stack.
class JpegReader {
 public:
  explicit JpegReader(Bytes bytes) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = &give_up;
    errors_.manager.emit_message = &on_message;
    errors_.manager.output_message = [](j_common_ptr) {};
    info_.client_data = &errors_;
    created_ = create(bytes);
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Everything up to the first scan; APP1 segments (EXIF, XMP) are kept.
  bool read_header() {
    if (!created_) return false;
    if (setjmp(errors_.exit) != 0) return false;
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool start(J_COLOR_SPACE colour_space) {
    if (setjmp(errors_.exit) != 0) return false;
    info_.out_color_space = colour_space;
    progress_.progress_monitor = &check_scans;
    info_.progress = &progress_;
    jpeg_start_decompress(&info_);
    return true;
  }

  /// The next row; `row` has width * components bytes.
  bool read_row(std::uint8_t* row) {
    if (setjmp(errors_.exit) != 0) return false;
    jpeg_read_scanlines(&info_, &row, 1);
    return true;
  }

  /// All rows, one after the other, and the end marker.
  bool read_all(std::uint8_t* pixels, std::size_t row_bytes) {
    if (setjmp(errors_.exit) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW rows[16];
      JDIMENSION count = 0;
      for (JDIMENSION y = info_.output_scanline; count < 16 && y < info_.output_height; ++y)
        rows[count++] = pixels + y * row_bytes;
      jpeg_read_scanlines(&info_, rows, count);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  bool finish() {
    if (setjmp(errors_.exit) != 0) return false;
    jpeg_finish_decompress(&info_);
    return true;
  }

  const jpeg_decompress_struct& info() const { return info_; }

  [[noreturn]] void fail_with_reason(const EncodedImage& encoded) const {
    if (errors_.code == JWRN_JPEG_EOF || errors_.code == JERR_INPUT_EOF || errors_.code == JERR_INPUT_EMPTY)
      fail_truncated(encoded, "JPEG", "the end marker is missing");
    if (errors_.code == JWRN_HIT_MARKER && info_.unread_marker == JPEG_EOI)
      fail_truncated(encoded, "JPEG", "the end marker comes before the last pixels");
    fail(is_unsupported() ? ErrorCode::image_unsupported : ErrorCode::image_corrupt, encoded,
         fmt::format("JPEG data cannot be decoded: {}", errors_.message));
  }

 private:
  struct Errors {
    jpeg_error_mgr manager;
    std::jmp_buf exit;
    int code;
    char message[JMSG_LENGTH_MAX];
  };

  bool create(Bytes bytes) {
    if (setjmp(errors_.exit) != 0) return false;
    jpeg_create_decompress(&info_);  // keeps err and client_data
    jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
    return true;
  }

  bool is_unsupported() const {
    switch (errors_.code) {
      case JERR_SOF_UNSUPPORTED:
      case JERR_BAD_PRECISION:
      case JERR_ARITH_NOTIMPL:
      case JERR_COMPONENT_COUNT:
      case JERR_CONVERSION_NOTIMPL:
      case JERR_FRACT_SAMPLE_NOTIMPL:
      case JERR_CCIR601_NOTIMPL:
      case JERR_NOT_COMPILED:
        return true;
      default:
        return false;
    }
  }

  static void give_up(j_common_ptr info) {
    auto* errors = static_cast<Errors*>(info->client_data);
    errors->code = info->err->msg_code;
    info->err->format_message(info, errors->message);
    std::longjmp(errors->exit, 1);
  }

  /// libjpeg goes on after damage and paints gray, with no more than a warning. Warnings that can mean lost
  /// pixels end the decoding; those of stray bytes between segments, which cameras write, do not.
  static void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
      case JWRN_EXTRANEOUS_DATA:
      case JWRN_ADOBE_XFORM:
      case JWRN_JFIF_MAJOR:
      case JWRN_BOGUS_PROGRESSION:
      case JWRN_NOT_SEQUENTIAL:
        break;
      default:
        give_up(info);
    }
  }

  static void check_scans(j_common_ptr info) {
    if (info->is_decompressor && reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > max_scans) {
      auto* errors = static_cast<Errors*>(info->client_data);
      errors->code = JERR_BAD_PROGRESSION;
      std::snprintf(errors->message, sizeof errors->message, "more than %d scans", max_scans);
      std::longjmp(errors->exit, 1);
    }
  }

  jpeg_decompress_struct info_{};
  jpeg_progress_mgr progress_{};
  Errors errors_{};
  bool created_ = false;
};

/// EXIF (segments joined, as Pillow does) and XMP of the APP1 segments.
int read_orientation(const jpeg_decompress_struct& info) {
  constexpr std::string_view exif_prefix("Exif\0\0", 6);
  constexpr std::string_view xmp_prefix("http://ns.adobe.com/xap/1.0/\0", 29);
  std::vector<std::uint8_t> exif;
  std::string_view xmp;
  for (auto* marker = info.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (data.starts_with(exif_prefix)) {
      exif.insert(exif.end(), marker->data + exif_prefix.size(), marker->data + marker->data_length);
    } else if (data.starts_with(xmp_prefix)) {
      xmp = data.substr(xmp_prefix.size());
    }
  }
  return orientation_of(exif, xmp);
}

/// Pillow takes every CMYK JPEG for inverted, as Adobe writes them, whether a marker says so or not.
bool read_inverted_cmyk(JpegReader& reader, Image& image) {
  const auto width = static_cast<std::size_t>(image.width);
  std::vector<std::uint8_t> row(width * 4);
  for (std::int64_t y = 0; y < image.height; ++y) {
    if (!reader.read_row(row.data())) return false;
    std::uint8_t* rgb = &image.pixels[static_cast<std::size_t>(y) * width * 3];
    for (std::size_t x = 0; x < width; ++x) {
      std::uint8_t* cmyk = &row[4 * x];
      for (int i = 0; i < 4; ++i) cmyk[i] = static_cast<std::uint8_t>(255 - cmyk[i]);
      put_cmyk(rgb + 3 * x, cmyk);
    }
  }
  return reader.finish();
}

}  // namespace

DecodedImage decode_jpeg(const EncodedImage& encoded) {
  JpegReader reader(encoded.bytes);
  if (!reader.read_header()) reader.fail_with_reason(encoded);
  const jpeg_decompress_struct& info = reader.info();

  if (info.data_precision != 8)
    fail(ErrorCode::image_unsupported, encoded, fmt::format("{}-bit JPEG", info.data_precision));
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4)
    fail(ErrorCode::image_unsupported, encoded, fmt::format("JPEG with {} components", info.num_components));

  DecodedImage decoded;
  decoded.image = allocate_image(encoded, info.image_width, info.image_height);
  decoded.image.orientation = read_orientation(info);
  const bool cmyk = info.num_components == 4;
  const auto row_bytes = static_cast<std::size_t>(decoded.image.width) * 3;
  const bool complete = reader.start(cmyk ? JCS_CMYK : JCS_RGB) &&
                        (cmyk ? read_inverted_cmyk(reader, decoded.image)
                              : reader.read_all(decoded.image.pixels.data(), row_bytes));
  if (!complete) reader.fail_with_reason(encoded);
  return decoded;
}

}  // namespace vit::io::internal
