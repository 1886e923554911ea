#pragma once
// Picture files: PNG and JPEG in, PNG out. Failures are std::runtime_error naming the file.

#include <string>

#include "image.h"

namespace ocr {

// The format is told by the first bytes, not by the name. Transparent pixels are laid on white.
Image ReadImage(const std::string& path);

void WritePng(const std::string& path, const Image& image);

}  // namespace ocr
