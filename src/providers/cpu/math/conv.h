// Convolutions of float tensors, channels first, 1 to 3 spatial dimensions, groups, strides,
// dilations, any pads, with an epilogue. Pure functions on raw pointers: no allocation, no threads,
// no errors. Plan and bits depend on the shape and the ISA level only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/cpu/math/epilogue.h"
#include "providers/cpu/math/isa.h"

namespace switchyard::cpu::math {

// Spatial dimensions are [depth, height, width]; a missing one is 1 with kernel, stride and
// dilation 1. Input [batch, in_channels, in...], weight [out_channels, in_channels / groups,
// kernel...], output [batch, out_channels, out...]; `out` is given, the end pads follow from it.
struct ConvShape {
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t in[3] = {1, 1, 1};
  std::int64_t out[3] = {1, 1, 1};
  std::int64_t kernel[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1};
  std::int64_t dilation[3] = {1, 1, 1};
  std::int64_t pad[3] = {0, 0, 0};  // at the begin; may be negative (cropping)
  bool weight_packed = true;        // packed by pack_weight; false: as it is
};

enum class ConvPath : std::uint8_t {
  kNothing,
  kPointwise,  // 1x1: the input is the matrix
  kUnfold,     // im2col tiles in scratch
  kRows,       // padded input rows in scratch, read through an offset table
  kDepthwise,  // one input channel per group
};

struct ConvPlan {
  ConvShape shape;
  ConvPath path = ConvPath::kNothing;
  std::int64_t k_block = 0;
  std::int64_t channel_chunk = 0;  // output channels per chunk; kDepthwise: planes
  std::int64_t channel_chunks = 0;
  std::int64_t pixel_chunk = 0;  // output pixels per chunk; kRows, kDepthwise: output rows
  std::int64_t pixel_chunks = 0;
  std::int64_t chunks = 0;
  std::size_t scratch_bytes = 0;  // per running chunk, 64-byte aligned
  double flops_per_chunk = 0;
};

struct ConvArgs {
  const float* input = nullptr;
  const float* weight = nullptr;
  float* output = nullptr;
  // Rows are output channels, columns output pixels.
  const Epilogue* epilogue = nullptr;
};

struct ConvOps {
  ConvPlan (*plan)(const ConvShape& shape);
  void (*run_chunk)(const ConvPlan& plan, const ConvArgs& args, std::int64_t chunk, void* scratch);
  // Panels are independent. Depthwise weights are copied.
  std::int64_t (*weight_panels)(const ConvShape& shape);
  std::size_t (*packed_weight_elements)(const ConvShape& shape);
  void (*pack_weight)(const ConvShape& shape, const float* weight, std::int64_t panel_begin,
                      std::int64_t panel_end, float* packed);
};

const ConvOps& ConvFor(IsaLevel level);

}  // namespace switchyard::cpu::math
