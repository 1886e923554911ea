#pragma once
// softmax(scale * Q K^T + masks) V per head and block of queries, for every attention operator.
// Reads queries, keys and values where they lie: no transposes. Float and double.

#include <vector>

#include "providers/cpu/kernels/common/product.h"

namespace switchyard::cpu {

// Element (b, h, row, i) is at data[b * batch + h * head + row * row_stride + i].
template <typename P>
struct HeadsView {
  P data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0;
  P At(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return data + b * batch + h * head + r * row;
  }
};

// [batch, heads, length, size], or [batch, length, heads * size] with the row `pitch` apart.
template <typename P>
HeadsView<P> HeadsFirst(P data, std::int64_t heads, std::int64_t length, std::int64_t size) {
  return {data, heads * length * size, length * size, size};
}
template <typename P>
HeadsView<P> HeadsLast(P data, std::int64_t length, std::int64_t size, std::int64_t pitch) {
  return {data, length * pitch, size, pitch};
}

// Writes the past [batch, heads, past, size] (may be null) and then `rows` new rows of each head.
template <typename C>
void JoinPast(OpKernelContext& context, std::int64_t batch, std::int64_t heads, std::int64_t size,
              const C* past, std::int64_t past_rows, const HeadsView<const C*>& fresh,
              std::int64_t rows, const HeadsView<C*>& to) {
  if (past == nullptr) past_rows = 0;
  ParallelItems(context, batch * heads, 0.3 * static_cast<double>((past_rows + rows) * size),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i) {
                    const std::int64_t b = i / heads, h = i % heads;
                    if (past_rows > 0)
                      std::copy_n(past + i * past_rows * size, past_rows * size, to.At(b, h, 0));
                    for (std::int64_t t = 0; t < rows; ++t)
                      std::copy_n(fresh.At(b, h, t), size, to.At(b, h, past_rows + t));
                  }
                });
}

// Which scores a caller wants to see.
enum class ScoreStage : std::uint8_t { kNone, kScaled, kCapped, kMasked, kSoftmax };

template <typename C>
struct AttentionArgs {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;  // heads is a multiple of kv_heads
  std::int64_t queries = 0, keys = 0, size = 0, value_size = 0;
  std::int64_t most_keys = 0;  // where `keys` is known at Compute only: what scratch was made for
  HeadsView<const C*> q, k, v;
  HeadsView<C*> out;
  C scale = 1;
  C softcap = 0;                 // 0: none; comes before the masks
  HeadsView<const C*> masks[2];  // added; rows of `mask_keys` values, -infinity beyond
  std::int64_t mask_keys = -1;   // -1: all keys
  // Query i is at position offset + i and sees keys from `left` before to `right` behind it; -1: no
  // bound. A right bound of 0 is the causal form.
  std::int64_t offset = 0, left = -1, right = -1;
  // Per batch entry instead of `offset`, and how many keys there are; nullptr: all.
  const std::int64_t* offsets = nullptr;
  const std::int64_t* key_counts = nullptr;
  bool smooth = false;       // a further key of score 0 that has no value
  const C* sinks = nullptr;  // per head: the score of that key
  ScoreStage stage = ScoreStage::kNone;
  HeadsView<C*> scores;  // [queries, keys] rows
};

template <typename C>
class AttentionCore {
 public:
  explicit AttentionCore(math::IsaLevel level) : level_(level), ops_(GemmOpsOf<C>(level)) {}

  // Scratch of one worker, and of all.
  std::size_t WorkerScratch(const AttentionArgs<C>& args) const {
    return ProductsScratch(args) +
           ScratchLayout::Rounded(static_cast<std::size_t>(BlockRows(args) * MostKeys(args)) *
                                  sizeof(C));
  }
  std::size_t Scratch(const AttentionArgs<C>& args, int workers) const {
    return WorkerScratch(args) * static_cast<std::size_t>(workers);
  }

  void Run(OpKernelContext& context, const AttentionArgs<C>& args, std::byte* scratch) const;

 private:
  static std::int64_t MostKeys(const AttentionArgs<C>& args) {
    return std::max(args.keys, args.most_keys);
  }
  // As many as leave the scores in the second cache: keys and values are packed once a block.
  static std::int64_t BlockRows(const AttentionArgs<C>& args) {
    constexpr std::int64_t kScores = std::int64_t{1} << 15;
    const std::int64_t rows = kScores / std::max<std::int64_t>(MostKeys(args), 1) / 16 * 16;
    return std::min(std::clamp<std::int64_t>(rows, 64, 256), args.queries);
  }
  std::size_t ProductsScratch(const AttentionArgs<C>& args) const;
  math::GemmPlan ScorePlan(const AttentionArgs<C>& args, std::int64_t rows,
                           std::int64_t keys) const {
    return ops_.plan(
        {rows, keys, args.size, 1, math::MatrixForm::kRowMajor, math::MatrixForm::kTransposed});
  }
  math::GemmPlan ValuePlan(const AttentionArgs<C>& args, std::int64_t rows,
                           std::int64_t keys) const {
    return ops_.plan({rows, args.value_size, keys});
  }
  // Queries [row, row + rows) of one head.
  void Block(const AttentionArgs<C>& args, std::int64_t b, std::int64_t h, std::int64_t row,
             std::int64_t rows, std::byte* scratch) const;
  // One row of scores, of which [low, high) count, to weights over [0, width).
  void Weights(const AttentionArgs<C>& args, std::int64_t b, std::int64_t h, std::int64_t row,
               std::int64_t low, std::int64_t high, std::int64_t width, C* scores) const;
  void Softmax(const AttentionArgs<C>& args, std::int64_t h, C* scores, std::int64_t n) const;

  math::IsaLevel level_;
  const math::GemmOpsT<C>& ops_;
};

extern template class AttentionCore<float>;
extern template class AttentionCore<double>;

}  // namespace switchyard::cpu
