#include "trainer/data/image_decoder.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

// clang-format off: jpeglib.h needs cstdio, and jerror.h the types of jpeglib.h
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include "base/error.h"
#include "trainer/data/resample.h"

namespace legacy {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 27;
constexpr int kMostScans = 200;  // of a progressive JPEG, each of which costs a pass
constexpr int kPixelBytes = 4;
// Columns and rows around a crop, because the upsampling of colours reads neighbours.
constexpr int kMargin = 2;

void CheckShape(int64_t width, int64_t height, const std::string& name) {
  if (width >= 1 && height >= 1 && width * height <= kMostPixels) return;
  throw Error(name, std::to_string(width) + " x " + std::to_string(height) + " pixels",
              "1 to " + std::to_string(kMostPixels) + " pixels");
}

// A DecodedPart is the part of an image that was decoded, at 1 / `reduction` of its size.
struct DecodedPart {
  std::vector<uint8_t> pixels;  // four bytes each, and kSlack after the last
  int left = 0;                 // of the part, in pixels of the reduced image
  int top = 0;
  int width = 0;
  int height = 0;
  int reduction = 1;

  // Sums of rows read whole vectors.
  static constexpr size_t kSlack = 256;

  void Resize(int new_width, int new_height) {
    width = new_width;
    height = new_height;
    const size_t bytes = static_cast<size_t>(width) * height * kPixelBytes + kSlack;
    if (pixels.size() < bytes) pixels.resize(bytes);
  }
  uint8_t* Row(int row) {
    return pixels.data() + static_cast<size_t>(row) * static_cast<size_t>(width) * kPixelBytes;
  }
};

// A Window is the part that a decoder is asked for: columns [left, right) and rows [top, bottom) of
// the reduced image.
struct Window {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
};

// Returns the crop's window in an image of `width` x `height` at 1 / `reduction`, with the pixels
// that filters reach beyond an open crop.
Window WindowOf(const CropChoice& crop, int reduction, int width, int height, int size) {
  const double factor = 1.0 / reduction;
  const auto reach = [&](double length) {
    return crop.closed ? 0.0 : std::max(1.0, length * factor / size) + 1;
  };
  const ImageBox& box = crop.box;
  const double x = reach(box.width), y = reach(box.height);
  Window window;
  window.left = std::clamp(static_cast<int>(std::floor(box.left * factor - x)), 0, width - 1);
  window.top = std::clamp(static_cast<int>(std::floor(box.top * factor - y)), 0, height - 1);
  window.right = std::clamp(static_cast<int>(std::ceil((box.left + box.width) * factor + x)),
                            window.left + 1, width);
  window.bottom = std::clamp(static_cast<int>(std::ceil((box.top + box.height) * factor + y)),
                             window.top + 1, height);
  return window;
}

// A JpegReader reads one JPEG from memory. libjpeg reports errors by a jump, over frames that have
// nothing to destroy.
class JpegReader {
 public:
  // Reads the header. Throws Error.
  JpegReader(std::span<const uint8_t> file, const std::string& name) : name_(name) {
    jpeg_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = [](j_common_ptr jpeg) { Jump(jpeg); };
    errors_.manager.emit_message = Message;
    errors_.manager.output_message = [](j_common_ptr) {};
    if (setjmp(errors_.jump) != 0) Fail();
    jpeg_create_decompress(&jpeg_);
    jpeg_mem_src(&jpeg_, file.data(), static_cast<unsigned long>(file.size()));
    jpeg_read_header(&jpeg_, TRUE);
    progress_.progress_monitor = Progress;
    jpeg_.progress = &progress_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  int width() const { return static_cast<int>(jpeg_.image_width); }
  int height() const { return static_cast<int>(jpeg_.image_height); }

  // Begins to decode at 1 / `reduction`. Returns the size of the reduced image.
  ImageShape Start(int reduction) {
    if (setjmp(errors_.jump) != 0) Fail();
    jpeg_.scale_num = 1;
    jpeg_.scale_denom = static_cast<unsigned>(reduction);
    cmyk_ = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    jpeg_.out_color_space = cmyk_ ? JCS_CMYK : JCS_EXT_RGBX;
    jpeg_start_decompress(&jpeg_);
    return {static_cast<int>(jpeg_.output_height), static_cast<int>(jpeg_.output_width)};
  }

  // Decodes the window, extended to whole blocks.
  void Read(const Window& window, DecodedPart& canvas) {
    auto left = static_cast<JDIMENSION>(std::max(0, window.left - kMargin));
    auto width =
        std::min(static_cast<JDIMENSION>(window.right + kMargin), jpeg_.output_width) - left;
    const auto top = static_cast<JDIMENSION>(std::max(0, window.top - kMargin));
    if (setjmp(errors_.jump) != 0) Fail();
    if (width < jpeg_.output_width) jpeg_crop_scanline(&jpeg_, &left, &width);
    canvas.left = static_cast<int>(left);
    canvas.top = static_cast<int>(top);
    canvas.Resize(static_cast<int>(width), window.bottom - canvas.top);
    if (top > 0) jpeg_skip_scanlines(&jpeg_, top);
    while (static_cast<int>(jpeg_.output_scanline) < window.bottom) {
      const int at = static_cast<int>(jpeg_.output_scanline) - canvas.top;
      std::array<JSAMPROW, 4> rows;
      const int count = std::min(static_cast<int>(rows.size()), canvas.height - at);
      for (int i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = canvas.Row(at + i);
      jpeg_read_scanlines(&jpeg_, rows.data(), static_cast<JDIMENSION>(count));
    }
    if (cmyk_) ToRgb(canvas);
  }

  // Reads to the end of the file, after the last row.
  void Finish() {
    if (setjmp(errors_.jump) != 0) Fail();
    jpeg_finish_decompress(&jpeg_);
  }

 private:
  struct Errors {
    jpeg_error_mgr manager;  // the first member, as libjpeg hands it back
    std::jmp_buf jump;
    char text[JMSG_LENGTH_MAX];
  };

  [[noreturn]] static void Jump(j_common_ptr jpeg) {
    auto* errors = reinterpret_cast<Errors*>(jpeg->err);
    jpeg->err->format_message(jpeg, errors->text);
    std::longjmp(errors->jump, 1);
  }

  // A warning means damage if data are missing or make no sense. Others, such as that of bytes
  // between two segments, are about images that any viewer shows.
  static void Message(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    constexpr std::array kDamage = {JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE,
                                    JWRN_MUST_RESYNC};
    if (std::ranges::find(kDamage, jpeg->err->msg_code) != kDamage.end()) Jump(jpeg);
  }

  static void Progress(j_common_ptr jpeg) {
    if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
    auto* errors = reinterpret_cast<Errors*>(jpeg->err);
    std::snprintf(errors->text, sizeof(errors->text), "more than %d scans", kMostScans);
    std::longjmp(errors->jump, 1);
  }

  [[noreturn]] void Fail() {
    jpeg_destroy_decompress(&jpeg_);  // a constructor that fails has no destructor
    throw Error(name_, errors_.text, "a complete JPEG image");
  }

  // Adobe's CMYK has inverted inks, so that a channel is ink times black.
  void ToRgb(DecodedPart& canvas) const {
    const auto count = static_cast<size_t>(canvas.width) * static_cast<size_t>(canvas.height);
    uint8_t* pixel = canvas.pixels.data();
    for (size_t i = 0; i < count; ++i, pixel += kPixelBytes) {
      const int black = jpeg_.saw_Adobe_marker ? pixel[3] : 255 - pixel[3];
      for (int c = 0; c < 3; ++c) {
        const int ink = jpeg_.saw_Adobe_marker ? pixel[c] : 255 - pixel[c];
        pixel[c] = static_cast<uint8_t>((ink * black + 127) / 255);
      }
    }
  }

  const std::string& name_;
  Errors errors_{};
  jpeg_decompress_struct jpeg_{};
  jpeg_progress_mgr progress_{};
  bool cmyk_ = false;
};

// A PngReader reads one PNG from memory; errors are reported as libjpeg reports them.
class PngReader {
 public:
  PngReader(std::span<const uint8_t> file, const std::string& name)
      : name_(name), size_(file.size()), rest_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError,
                                  [](png_structp, png_const_charp) {});
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) throw Error("no memory for a PNG image");
    if (setjmp(jump_) != 0) Fail();
    png_set_read_fn(png_, this, Take);
    // Text and profiles that are not needed may be broken, or large.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    constexpr png_uint_32 kMostSide = 1u << 20;
    png_set_user_limits(png_, kMostSide, kMostSide);
    png_read_info(png_, info_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  int width() const { return static_cast<int>(png_get_image_width(png_, info_)); }
  int height() const { return static_cast<int>(png_get_image_height(png_, info_)); }

  // Decodes the whole image.
  void Read(DecodedPart& canvas) {
    // Deflate packs at most 1,032 bytes into one, so that a short file cannot ask for much memory.
    constexpr uint64_t kMostPacked = 1032;
    const uint64_t bytes = png_get_rowbytes(png_, info_) * static_cast<uint64_t>(height());
    if (bytes / kMostPacked > size_) {
      throw Error(name_, "a file of " + std::to_string(size_) + " bytes", "a complete PNG image");
    }
    canvas.left = canvas.top = 0;
    canvas.Resize(width(), height());
    std::vector<png_bytep> rows;
    for (int row = 0; row < canvas.height; ++row) rows.push_back(canvas.Row(row));
    ReadRows(rows.data());
  }

 private:
  void ReadRows(png_bytepp rows) {
    if (setjmp(jump_) != 0) Fail();
    png_set_expand(png_);    // palettes, few bits, transparent colours
    png_set_scale_16(png_);  // 16 bits
    png_set_gray_to_rgb(png_);
    png_set_add_alpha(png_, 0xFF, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != static_cast<size_t>(width()) * kPixelBytes) {
      png_error(png_, "unknown layout of pixels");
    }
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
  }

  [[noreturn]] static void OnError(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(reader->text_, sizeof(reader->text_), "%s", message);
    std::longjmp(reader->jump_, 1);
  }

  static void Take(png_structp png, png_bytep out, size_t count) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > reader->rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(out, reader->rest_.data(), count);
    reader->rest_ = reader->rest_.subspan(count);
  }

  [[noreturn]] void Fail() {
    const Error error(name_, text_, "a complete PNG image");
    png_destroy_read_struct(&png_, &info_, nullptr);  // as for a JPEG
    throw Error(error);
  }

  const std::string& name_;
  const size_t size_;  // of the file
  std::span<const uint8_t> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  char text_[200] = {};
};

enum class Kind { kJpeg, kPng };

Kind KindOf(std::span<const uint8_t> file, const std::string& name) {
  const auto starts_with = [&](std::string_view magic) {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
  };
  if (starts_with("\xFF\xD8\xFF")) return Kind::kJpeg;
  if (starts_with("\x89PNG\r\n\x1A\n")) return Kind::kPng;
  if (file.empty()) throw Error(name, "an empty file", "a JPEG or PNG image");
  throw Error(name + ": offset 0", "the start of some other format", "a JPEG or PNG image");
}

AxisBox AxisOf(double begin, double length, int reduction, int offset, int count, bool closed) {
  AxisBox axis;
  axis.begin = begin / reduction - offset;
  axis.length = length / reduction;
  axis.first = 0;
  axis.end = count;
  if (closed) {
    axis.first = std::clamp(static_cast<int>(std::floor(axis.begin)), 0, count - 1);
    axis.end =
        std::clamp(static_cast<int>(std::ceil(axis.begin + axis.length)), axis.first + 1, count);
  }
  return axis;
}

}  // namespace

// These are the reductions that libjpeg-turbo has vector code for.
int ReductionFor(const CropChoice& crop, int size) {
  int reduction = 1;
  while (reduction < 8 && std::min(crop.box.width, crop.box.height) / (2 * reduction) >= size) {
    reduction *= 2;
  }
  return reduction;
}

ImageShape ReadImageShape(std::span<const uint8_t> file, const std::string& name) {
  ImageShape shape;
  if (KindOf(file, name) == Kind::kJpeg) {
    const JpegReader reader(file, name);
    shape = {reader.height(), reader.width()};
  } else {
    const PngReader reader(file, name);
    shape = {reader.height(), reader.width()};
  }
  CheckShape(shape.width, shape.height, name);
  return shape;
}

void DecodeImage(std::span<const uint8_t> file, const std::string& name, const CropChoice& crop,
                 int size, std::span<uint8_t> out) {
  thread_local DecodedPart canvas;
  canvas.reduction = 1;
  if (KindOf(file, name) == Kind::kJpeg) {
    JpegReader reader(file, name);
    CheckShape(reader.width(), reader.height(), name);
    canvas.reduction = ReductionFor(crop, size);
    const ImageShape reduced = reader.Start(canvas.reduction);
    reader.Read(WindowOf(crop, canvas.reduction, reduced.width, reduced.height, size), canvas);
  } else {
    PngReader reader(file, name);
    CheckShape(reader.width(), reader.height(), name);
    reader.Read(canvas);
  }
  const ImageBox& box = crop.box;
  const AxisBox columns =
      AxisOf(box.left, box.width, canvas.reduction, canvas.left, canvas.width, crop.closed);
  const AxisBox rows =
      AxisOf(box.top, box.height, canvas.reduction, canvas.top, canvas.height, crop.closed);
  const PixelWindow window = {canvas.pixels.data(), canvas.width, canvas.height,
                              static_cast<size_t>(canvas.width) * kPixelBytes};
  Resample(window, columns, rows, size, crop.flip, out.data());
}

ImageShape CheckImage(std::span<const uint8_t> file, const std::string& name) {
  DecodedPart canvas;
  if (KindOf(file, name) == Kind::kJpeg) {
    JpegReader reader(file, name);
    CheckShape(reader.width(), reader.height(), name);
    const ImageShape shape = reader.Start(1);
    reader.Read({0, 0, shape.width, shape.height}, canvas);
    reader.Finish();
    return {reader.height(), reader.width()};
  }
  PngReader reader(file, name);
  CheckShape(reader.width(), reader.height(), name);
  reader.Read(canvas);
  return {canvas.height, canvas.width};
}

}  // namespace legacy
