// Normalisation rows: layer, RMS, skip-layer, group / instance and batch normalisation of float,
// float16, bfloat16 and (slowly) double. Pure functions over raw pointers, nothing is allocated.
// Means and variances take two passes over data in cache; sums run in fixed chunks, so a row's
// result depends on the row alone.
#pragma once

#include <cstdint>

#include "providers/cpu/math/isa.h"
#include "providers/cpu/math/vec_types.h"

namespace switchyard::cpu::math {

// All pointers but mean and inv_std have the element type `type`; those are float (double for
// kDouble) and may be null.
struct LayerNormArgs {
  ElemType type = ElemType::kFloat;
  IsaLevel level = IsaLevel::kBaseline;
  int64_t width = 0;  // elements of a row
  float epsilon = 1e-5f;
  bool rms = false;                 // no mean is subtracted
  const void* in = nullptr;         // rows x width
  const void* skip = nullptr;       // added first; null: none
  int64_t skip_rows = 0;            // row r reads skip row r % skip_rows
  const void* skip_bias = nullptr;  // width, added first; null: none
  const void* scale = nullptr;      // width; null: 1
  const void* bias = nullptr;       // width; null: 0
  void* out = nullptr;
  void* sum = nullptr;  // in + skip + skip_bias; null: not wanted
  void* mean = nullptr;
  void* inv_std = nullptr;
};

// Rows [begin, end). False for an unsupported type.
bool RunLayerNorm(const LayerNormArgs& args, int64_t begin, int64_t end);

// Group normalisation of [N, groups, channels_per_group, spatial]; instance normalisation has one
// channel per group. scale and bias have one value per channel of all groups (or per group with
// per_group). Rows are N * groups.
struct GroupNormArgs {
  ElemType type = ElemType::kFloat;
  IsaLevel level = IsaLevel::kBaseline;
  int64_t groups = 1, channels_per_group = 1, spatial = 1;
  float epsilon = 1e-5f;
  bool per_group = false;
  const void* in = nullptr;
  const void* scale = nullptr;  // null: 1
  const void* bias = nullptr;   // null: 0
  void* out = nullptr;
};
bool RunGroupNorm(const GroupNormArgs& args, int64_t begin, int64_t end);

// y = x * scale[c] + shift[c] on [N, channels, spatial], rows are N * channels; float scale and
// shift (what batch normalisation folds to). False for an unsupported type.
bool RunChannelAffine(ElemType type, IsaLevel level, const void* in, void* out, const float* scale,
                      const float* shift, int64_t channels, int64_t spatial, int64_t begin,
                      int64_t end);

}  // namespace switchyard::cpu::math
