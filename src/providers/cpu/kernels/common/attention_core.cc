#include "providers/cpu/kernels/common/attention_core.h"

#include <cmath>
#include <limits>

#include "providers/cpu/math/vec_softmax.h"

namespace switchyard::cpu {

namespace {

template <typename C>
void RunChunks(const math::GemmOpsT<C>& ops, const math::GemmPlan& plan,
               const math::GemmArgsT<C>& args, std::byte* scratch) {
  for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk)
    ops.run_chunk(plan, args, chunk, scratch);
}

}  // namespace

template <typename C>
std::size_t AttentionCore<C>::ProductsScratch(const AttentionArgs<C>& args) const {
  const std::int64_t block = BlockRows(args), keys = MostKeys(args);
  // What packing may need for any smaller number of keys, so that the room grows with the keys.
  std::size_t bytes =
      static_cast<std::size_t>(std::min<std::int64_t>(std::max(args.size, keys), 768) * 256) *
      sizeof(C);
  for (std::int64_t rows : {block, block > 0 ? args.queries % block : 0}) {
    bytes = std::max({bytes, ScorePlan(args, rows, keys).scratch_bytes,
                      ValuePlan(args, rows, keys).scratch_bytes});
  }
  return ScratchLayout::Rounded(bytes);
}

template <typename C>
void AttentionCore<C>::Run(OpKernelContext& context, const AttentionArgs<C>& args,
                           std::byte* scratch) const {
  constexpr double kFlopsWorthThreads = 4e5;
  if (args.queries == 0 || args.batch * args.heads == 0) return;
  const std::int64_t block = BlockRows(args);
  const std::int64_t blocks = (args.queries + block - 1) / block;
  const std::int64_t items = args.batch * args.heads * blocks;
  const std::size_t slice = WorkerScratch(args);
  const auto item = [&](std::int64_t i, int worker) {
    const std::int64_t head = i / blocks, row = i % blocks * block;
    Block(args, head / args.heads, head % args.heads, row, std::min(block, args.queries - row),
          scratch + slice * static_cast<std::size_t>(worker));
  };
  const double flops = 2.0 * static_cast<double>(args.queries * args.keys) *
                       static_cast<double>(args.size + args.value_size + 8) *
                       static_cast<double>(args.batch * args.heads);
  if (flops < kFlopsWorthThreads) {
    for (std::int64_t i = 0; i < items; ++i) item(i, 0);
  } else {
    context.team().ParallelFor(items, item);
  }
}

template <typename C>
void AttentionCore<C>::Block(const AttentionArgs<C>& args, std::int64_t b, std::int64_t h,
                             std::int64_t row, std::int64_t rows, std::byte* scratch) const {
  const std::int64_t kv_head = h / (args.heads / args.kv_heads);
  const std::int64_t offset = args.offsets != nullptr ? args.offsets[b] : args.offset;
  const std::int64_t count =
      args.key_counts != nullptr ? std::min(args.key_counts[b], args.keys) : args.keys;
  const auto high_of = [&](std::int64_t r) {
    const std::int64_t high =
        args.right >= 0 ? std::min(count, offset + r + args.right + 1) : count;
    return std::max<std::int64_t>(high, 0);
  };
  const std::size_t products = ProductsScratch(args);
  auto* scores = reinterpret_cast<C*>(scratch + products);
  // Keys that no query of the block sees are left out, unless their scores are asked for.
  std::int64_t width = args.stage == ScoreStage::kNone ? high_of(row + rows - 1) : args.keys;
  if (width < args.keys && (ScorePlan(args, rows, width).scratch_bytes > products ||
                            ValuePlan(args, rows, width).scratch_bytes > products)) {
    width = args.keys;
  }
  SY_CHECK(ScorePlan(args, rows, width).scratch_bytes <= products &&
           ValuePlan(args, rows, width).scratch_bytes <= products);
  math::GemmArgsT<C> product;
  product.a = args.q.At(b, h, row);
  product.lda = args.q.row;
  product.b = args.k.At(b, kv_head, 0);
  product.ldb = args.k.row;
  product.c = scores;
  product.ldc = width;
  product.alpha = args.scale;
  if (width > 0) RunChunks(ops_, ScorePlan(args, rows, width), product, scratch);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t high = std::min(high_of(row + r), width);
    std::int64_t low = 0;
    if (args.left >= 0)
      low = std::min(std::max<std::int64_t>(0, offset + row + r - args.left), high);
    Weights(args, b, h, row + r, low, high, width, scores + r * width);
  }
  product = {};
  product.a = scores;
  product.lda = width;
  product.b = args.v.At(b, kv_head, 0);
  product.ldb = args.v.row;
  product.c = args.out.At(b, h, row);
  product.ldc = args.out.row;
  if (width > 0) {
    RunChunks(ops_, ValuePlan(args, rows, width), product, scratch);
  } else {
    for (std::int64_t r = 0; r < rows; ++r)
      std::fill_n(product.c + r * args.out.row, args.value_size, C(0));
  }
}

template <typename C>
void AttentionCore<C>::Weights(const AttentionArgs<C>& args, std::int64_t b, std::int64_t h,
                               std::int64_t row, std::int64_t low, std::int64_t high,
                               std::int64_t width, C* scores) const {
  const auto keep = [&](ScoreStage stage) {
    if (args.stage == stage) std::copy_n(scores, width, args.scores.At(b, h, row));
  };
  constexpr C kNever = -std::numeric_limits<C>::infinity();
  keep(ScoreStage::kScaled);
  if (args.softcap > 0) {
    for (std::int64_t i = 0; i < width; ++i)
      scores[i] = args.softcap * std::tanh(scores[i] / args.softcap);
  }
  keep(ScoreStage::kCapped);
  for (const auto& mask : args.masks) {
    if (mask.data == nullptr) continue;
    const C* add = mask.At(b, h, row);
    const std::int64_t n = args.mask_keys >= 0 ? std::min(args.mask_keys, width) : width;
    for (std::int64_t i = 0; i < n; ++i) scores[i] += add[i];
    std::fill(scores + n, scores + width, kNever);
  }
  if (args.stage == ScoreStage::kMasked) {
    std::fill(scores, scores + low, kNever);
    std::fill(scores + high, scores + width, kNever);
    keep(ScoreStage::kMasked);
  }
  std::fill(scores, scores + low, C(0));
  std::fill(scores + high, scores + width, C(0));
  if (high > low) Softmax(args, h, scores + low, high - low);
  keep(ScoreStage::kSoftmax);
}

template <typename C>
void AttentionCore<C>::Softmax(const AttentionArgs<C>& args, std::int64_t h, C* scores,
                               std::int64_t n) const {
  const bool extra = args.smooth || args.sinks != nullptr;
  const C sink = args.sinks != nullptr ? args.sinks[h] : C(0);
  C largest;
  if constexpr (std::is_same_v<C, float>) {
    largest = math::RowMax(scores, n, level_);
  } else {
    largest = *std::max_element(scores, scores + n);
  }
  if (extra) largest = std::max(largest, sink);
  if (largest == -std::numeric_limits<C>::infinity()) {
    std::fill_n(scores, n, C(0));
    return;
  }
  C sum = 0;
  if constexpr (std::is_same_v<C, float>) {
    sum = math::RowExpSum(scores, largest, scores, n, level_);
  } else {
    for (std::int64_t i = 0; i < n; ++i) sum += scores[i] = std::exp(scores[i] - largest);
  }
  if (extra) sum += std::exp(sink - largest);
  const C factor = C(1) / sum;
  if constexpr (std::is_same_v<C, float>) {
    math::RowScale(scores, factor, n, level_);
  } else {
    for (std::int64_t i = 0; i < n; ++i) scores[i] *= factor;
  }
}

template class AttentionCore<float>;
template class AttentionCore<double>;

}  // namespace switchyard::cpu
