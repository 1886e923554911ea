#include "image_io.h"

// jpeglib.h uses FILE and size_t without including their headers.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace ocr {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

using Bytes = std::vector<std::uint8_t>;

Bytes ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open picture '" + path + "'");
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

void CheckSize(const std::string& path, std::int64_t width, std::int64_t height) {
  if (width > 0 && height > 0 && width * height <= kMaxPixels) return;
  throw std::runtime_error("picture '" + path + "' has " + std::to_string(width) + " x " +
                           std::to_string(height) + " pixels; expected at least one and at most " +
                           std::to_string(kMaxPixels));
}

Image ReadPng(const std::string& path, const Bytes& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const auto fail = [&] {
    const std::string reason = png.message;
    png_image_free(&png);
    throw std::runtime_error("cannot read PNG '" + path + "': " + reason);
  };
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) fail();
  png.format = PNG_FORMAT_BGR;
  try {
    CheckSize(path, png.width, png.height);
  } catch (...) {
    png_image_free(&png);
    throw;
  }
  Image image(static_cast<int>(png.width), static_cast<int>(png.height));
  const png_color white = {255, 255, 255};
  if (png_image_finish_read(&png, &white, image.pixels.data(), 0, nullptr) == 0) fail();
  return image;
}

struct JpegErrors {
  jpeg_error_mgr manager{};  // first: libjpeg's pointer to it is a pointer to the whole
  std::jmp_buf back;
  std::array<char, JMSG_LENGTH_MAX> text{};
};

[[noreturn]] void LeaveJpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->text.data());
  std::longjmp(errors->back, 1);
}

class JpegDecoder {
 public:
  JpegDecoder() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = LeaveJpeg;
    errors.manager.output_message = [](j_common_ptr) {};
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // False after an error, whose text is in errors. Nothing in these two may need a destructor:
  // libjpeg jumps out.
  bool ReadHeader(const Bytes& bytes) {
    if (setjmp(errors.back) != 0) return false;
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes.data(), bytes.size());
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    return true;
  }
  bool ReadPixels(std::uint8_t* pixels) {
    if (setjmp(errors.back) != 0) return false;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = pixels + std::size_t(info.output_scanline) * info.output_width * 3;
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
  }

  jpeg_decompress_struct info{};
  JpegErrors errors;
};

Image ReadJpeg(const std::string& path, const Bytes& bytes) {
  JpegDecoder decoder;
  const auto check = [&](bool done) {
    if (done) return;
    throw std::runtime_error("cannot read JPEG '" + path + "': " + decoder.errors.text.data());
  };
  check(decoder.ReadHeader(bytes));
  CheckSize(path, decoder.info.image_width, decoder.info.image_height);
  Image image(static_cast<int>(decoder.info.image_width),
              static_cast<int>(decoder.info.image_height));
  check(decoder.ReadPixels(image.pixels.data()));
  for (std::size_t i = 0; i < image.pixels.size(); i += Image::kChannels) {
    std::swap(image.pixels[i], image.pixels[i + 2]);
  }
  return image;
}

}  // namespace

Image ReadImage(const std::string& path) {
  constexpr std::array<std::uint8_t, 4> kPng = {0x89, 'P', 'N', 'G'};
  constexpr std::array<std::uint8_t, 3> kJpeg = {0xFF, 0xD8, 0xFF};
  const Bytes bytes = ReadFile(path);
  const auto starts_with = [&bytes](const auto& signature) {
    return bytes.size() >= signature.size() &&
           std::equal(signature.begin(), signature.end(), bytes.begin());
  };
  if (starts_with(kPng)) return ReadPng(path, bytes);
  if (starts_with(kJpeg)) return ReadJpeg(path, bytes);
  throw std::runtime_error("picture '" + path + "' is neither PNG nor JPEG");
}

void WritePng(const std::string& path, const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_BGR;
  if (png_image_write_to_file(&png, path.c_str(), 0, image.pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error("cannot write picture '" + path + "': " + png.message);
  }
}

}  // namespace ocr
