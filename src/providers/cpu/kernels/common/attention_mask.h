#pragma once
// The integer padding masks of com.microsoft's attention operators, and the causal mask, as values
// to add to the scores.

#include <limits>

#include "providers/cpu/kernels/common/attention_core.h"

namespace switchyard::cpu {

struct PaddingMask {
  enum class Kind : std::uint8_t { kNone, kLengths, kEndsAndStarts, kPerKey, kPerQuery };
  Kind kind = Kind::kNone;
  bool causal = false;
  std::int64_t batch = 0, rows = 0, past = 0, total = 0;

  // Of an int32 input (may be absent): [B] key counts, [2B] ends then starts, [3B+2] counts and
  // sums, [B,T] or [B,S,T] with 1 for keys that are seen; [B,1] stands for no mask.
  static PaddingMask Of(const PrepareContext& context, std::size_t input, std::int64_t batch,
                        std::int64_t length, std::int64_t past, std::int64_t total, bool causal) {
    PaddingMask m;
    m.causal = causal;
    m.batch = batch;
    m.past = past;
    m.total = total;
    if (context.has_input(input)) {
      const auto d = context.input_dims(input);
      const bool flat = d.size() == 1;
      if (flat && (d[0] == batch || d[0] == 3 * batch + 2)) {
        m.kind = Kind::kLengths;
      } else if (flat && d[0] == 2 * batch) {
        m.kind = Kind::kEndsAndStarts;
      } else if (d.size() == 2 && d[0] == batch && d[1] == total) {
        m.kind = Kind::kPerKey;
      } else if (d.size() == 3 && d[0] == batch && d[1] == length && d[2] == total) {
        m.kind = Kind::kPerQuery;
      } else if (!(d.size() == 2 && d[1] == 1)) {
        context.Fail("a mask of " + DimsToString(d) + " for " + std::to_string(batch) +
                     " sequences of " + std::to_string(length) + " queries and " +
                     std::to_string(total) + " keys");
      }
    }
    m.rows = m.kind == Kind::kPerQuery || causal ? length : 1;
    return m;
  }

  bool needed() const { return kind != Kind::kNone || causal; }
  std::int64_t size() const { return needed() ? batch * rows * total : 0; }

  template <typename C>
  HeadsView<const C*> View(const C* data) const {
    return {data, rows * total, 0, rows == 1 ? 0 : total};
  }

  template <typename C>
  void Fill(OpKernelContext& context, std::size_t input, C filter, C* mask) const {
    const auto* values = kind != Kind::kNone ? context.Input(input).data<std::int32_t>() : nullptr;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t q = 0; q < rows; ++q) {
        C* row = mask + (b * rows + q) * total;
        for (std::int64_t t = 0; t < total; ++t) {
          row[t] = Sees(values, b, q, t) ? C(0) : filter;
          if (causal && t > past + q) row[t] = std::numeric_limits<C>::lowest();
        }
      }
    }
  }

 private:
  bool Sees(const std::int32_t* values, std::int64_t b, std::int64_t q, std::int64_t t) const {
    switch (kind) {
      case Kind::kLengths:
        return t < values[b];
      case Kind::kEndsAndStarts:
        return t < values[b] && t >= values[batch + b];
      case Kind::kPerKey:
        return values[b * total + t] > 0;
      case Kind::kPerQuery:
        return values[(b * rows + q) * total + t] > 0;
      default:
        return true;
    }
  }
};

}  // namespace switchyard::cpu
