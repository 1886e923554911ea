#pragma once
// Files of NumPy's .npy format (versions 1 to 3): dense tensors of the plain element types.

#include <string>

#include "switchyard/tensor/tensor.h"

namespace switchyard::cli {

// Any memory order and byte order is read; text arrays of fixed width become strings.
// Throws NoSuchFile, InvalidArgument (not such a file, an element type that no tensor has).
Tensor ReadNpy(const std::string& path);
// Dense host tensors. float16 and bool as NumPy has them; other types that NumPy lacks as their
// bytes: bfloat16 as uint16, 8-bit floats and packed types as uint8. Throws Fail when it can't be
// written.
void WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace switchyard::cli
