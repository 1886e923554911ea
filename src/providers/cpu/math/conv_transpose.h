// Transposed convolutions of float tensors, channels first, 1 to 3 spatial dimensions. Each residue
// of the output position modulo the stride is a product over the taps that reach it, so nothing is
// scattered and chunks never share output. Chunked and pure like conv.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/cpu/math/conv.h"

namespace switchyard::cpu::math {

// The fields of ConvShape with the meaning of ConvTranspose: input [batch, in_channels, in...],
// weight [in_channels, out_channels / groups, kernel...], output [batch, out_channels, out...];
// output position = input position * stride + tap * dilation - pad. weight_packed must be true.
struct ConvTransposePlan {
  ConvShape shape;
  std::int64_t row_chunk = 0;  // output rows (depth and height together) per chunk
  std::int64_t row_chunks = 0;
  std::int64_t chunks = 0;
  std::size_t scratch_bytes = 0;
  double flops_per_chunk = 0;
};

struct ConvTransposeOps {
  ConvTransposePlan (*plan)(const ConvShape& shape);
  void (*run_chunk)(const ConvTransposePlan& plan, const ConvArgs& args, std::int64_t chunk,
                    void* scratch);
  std::int64_t (*weight_panels)(const ConvShape& shape);
  std::size_t (*packed_weight_elements)(const ConvShape& shape);
  void (*pack_weight)(const ConvShape& shape, const float* weight, std::int64_t panel_begin,
                      std::int64_t panel_end, float* packed);
};

const ConvTransposeOps& ConvTransposeFor(IsaLevel level);

}  // namespace switchyard::cpu::math
