// 3x3 convolutions by Winograd's F(4x4, 3x3): a quarter of the multiplications, rounding error some
// ten times that of the direct product. The caller decides whether that is admitted. Chunked and
// pure like conv.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/cpu/math/conv.h"

namespace switchyard::cpu::math {

struct WinogradPlan {
  ConvShape shape;
  std::int64_t tile_rows = 0;  // rows of 4x4 output tiles per chunk
  std::int64_t row_chunks = 0;
  std::int64_t channel_chunk = 0;  // output channels per chunk
  std::int64_t channel_chunks = 0;
  std::int64_t chunks = 0;
  std::size_t scratch_bytes = 0;
  double flops_per_chunk = 0;  // of the direct convolution
};

struct WinogradOps {
  // 2 dimensions, one group, kernel 3x3, stride and dilation 1.
  bool (*applies)(const ConvShape& shape);
  // Faster than the direct product where the weights are not the bottleneck.
  bool (*pays)(const ConvShape& shape);
  WinogradPlan (*plan)(const ConvShape& shape);
  void (*run_chunk)(const WinogradPlan& plan, const ConvArgs& args, std::int64_t chunk,
                    void* scratch);
  // The transformed weights, four times the plain ones. Panels are independent.
  std::int64_t (*weight_panels)(const ConvShape& shape);
  std::size_t (*packed_weight_elements)(const ConvShape& shape);
  void (*pack_weight)(const ConvShape& shape, const float* weight, std::int64_t panel_begin,
                      std::int64_t panel_end, float* packed);
};

const WinogradOps& WinogradFor(IsaLevel level);

}  // namespace switchyard::cpu::math
