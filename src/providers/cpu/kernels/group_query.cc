// com.microsoft GroupQueryAttention: causal attention with fewer key than query heads, a key and
// value cache by heads, and rotary embedding on the way in. 16-bit and float caches.

#include <cmath>

#include "providers/cpu/kernels/common/attention_core.h"
#include "providers/cpu/kernels/common/rotary.h"
#include "providers/cpu/kernels/common/typed_kernel.h"
#include "providers/cpu/kernels/common/wide_input.h"

namespace switchyard::cpu::kernels::group_query {
namespace {

template <typename T>
class GroupQuery final : public OpKernel {
  using C = ComputeOf<T>;
  enum : std::size_t {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLengths,
    kTotal,
    kCos,
    kSin,
    kPositions,
    kAdded,
    kSinks
  };

  struct State {
    std::int64_t batch, length, size, past;
    bool packed;
    std::int64_t bound;  // keys at most: present dims may be known at Compute only
    std::size_t core_at, q_at, k_at, v_at, past_k_at, past_v_at, cos_at, sin_at, added_at, sinks_at,
        turned_q_at, turned_k_at, joined_k_at, joined_v_at, counts_at, out_at, scores_at;
  };

  // Per batch entry: keys before the new ones, keys that count.
  struct Counts {
    std::int64_t* before;
    std::int64_t* seen;
  };

 public:
  explicit GroupQuery(OpKernelInfo& info)
      : heads_(info.attributes().Int("num_heads", 0)),
        kv_heads_(info.attributes().Int("kv_num_heads", 0)),
        window_(info.attributes().Int("local_window_size", -1)),
        causal_(info.attributes().Int("causal", 1) != 0),
        rotary_(info.attributes().Int("do_rotary", 0) != 0),
        interleaved_(info.attributes().Int("rotary_interleaved", 0) != 0),
        smooth_(info.attributes().Int("smooth_softmax", 0) == 1),
        scale_(info.attributes().Float("scale", 0)),
        softcap_(info.attributes().Float("softcap", 0)),
        kept_(info.attributes().Int("qk_output", 0)),
        level_(IsaOf(info)),
        widening_(level_),
        core_(level_) {
    if (heads_ < 1 || kv_heads_ < 1 || heads_ % kv_heads_ != 0) {
      info.Fail("num_heads " + std::to_string(heads_) + ", kv_num_heads " +
                std::to_string(kv_heads_));
    }
    for (const char* name : {"k_quant_type", "v_quant_type"}) {
      if (info.attributes().String(name, "NONE") != "NONE")
        info.Fail("quantised caches are not supported", ErrorCode::kNotImplemented);
    }
    for (std::size_t i = kSinks + 1; i < info.num_inputs(); ++i) {
      if (info.has_input(i)) {
        info.Fail("input " + std::to_string(i) + " is not supported", ErrorCode::kNotImplemented);
      }
    }
    if (info.attributes().Int("sliding_window_cache", 0) != 0)
      info.Fail("sliding_window_cache is not supported", ErrorCode::kNotImplemented);
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    ReadSizes(context, &s);
    const auto input = [&](std::size_t i) {
      return Widening<T>::Room(context.has_input(i) ? Product(context.input_dims(i)) : 0);
    };
    const std::int64_t rows = s.batch * s.length;
    const std::int64_t cache = s.batch * kv_heads_ * s.bound * s.size;
    ScratchLayout layout;
    s.core_at = layout.ReserveBytes(core_.Scratch(Sizes(s, s.bound), context.team_size()));
    s.q_at = layout.Reserve<C>(input(kQuery));
    s.k_at = layout.Reserve<C>(input(kKey));
    s.v_at = layout.Reserve<C>(input(kValue));
    s.past_k_at = layout.Reserve<C>(input(kPastKey));
    s.past_v_at = layout.Reserve<C>(input(kPastValue));
    s.cos_at = layout.Reserve<C>(input(kCos));
    s.sin_at = layout.Reserve<C>(input(kSin));
    s.added_at = layout.Reserve<C>(input(kAdded));
    s.sinks_at = layout.Reserve<C>(input(kSinks));
    s.turned_q_at = layout.Reserve<C>(rotary_ ? rows * heads_ * s.size : 0);
    s.turned_k_at = layout.Reserve<C>(rotary_ ? rows * kv_heads_ * s.size : 0);
    s.joined_k_at = layout.Reserve<C>(cache);
    s.joined_v_at = layout.Reserve<C>(cache);
    s.counts_at = layout.Reserve<std::int64_t>(2 * s.batch);
    s.out_at = layout.Reserve<C>(Widening<T>::Room(rows * heads_ * s.size));
    s.scores_at = layout.Reserve<C>(kept_ != 0 ? rows * heads_ * s.bound : 0);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    const std::int64_t total = ReadIntegerScalar(context, kTotal);
    const std::int64_t capacity = std::max(total, s.past);
    if (total < 1 || capacity > s.bound) {
      context.Fail("total_sequence_length " + std::to_string(total) + " with a past of " +
                   std::to_string(s.past) + " and " + std::to_string(s.length) + " new tokens");
    }
    const Counts counts = ReadCounts(context, s, total, scratch);
    AttentionArgs<C> args = Sizes(s, capacity);
    SetOperands(context, s, scratch, &args);
    if (rotary_) Turn(context, s, counts, scratch, &args);
    Append(context, s, counts, capacity, scratch, &args);
    args.keys = total;
    args.offsets = counts.before;
    args.key_counts = counts.seen;
    if (const Tensor* added = context.OptionalInput(kAdded); added != nullptr)
      args.masks[0] = AddedView(context, s, total, *added, scratch, &args);
    args.sinks = widening_.ReadOptional(context, kSinks, scratch + s.sinks_at);
    const std::int64_t out_dims[] = {s.batch, s.length, heads_ * s.size};
    Tensor& out = context.Output(0, out_dims);
    C* result = Widening<T>::Target(out, scratch + s.out_at);
    args.out = HeadsLast<C*>(result, s.length, s.size, heads_ * s.size);
    Tensor* scores = nullptr;
    if (context.has_output(3) && kept_ != 0) {
      const std::int64_t dims[] = {s.batch, heads_, s.length, total};
      scores = &context.Output(3, dims);
      args.stage = kept_ == 1 ? ScoreStage::kMasked : ScoreStage::kSoftmax;
      args.scores = HeadsFirst<C*>(Widening<T>::Target(*scores, scratch + s.scores_at), heads_,
                                   s.length, total);
    }
    core_.Run(context, args, scratch + s.core_at);
    widening_.Finish(context, result, out);
    if (scores != nullptr) widening_.Finish(context, args.scores.data, *scores);
  }

 private:
  void ReadSizes(PrepareContext& context, State* s) const {
    const auto q = context.input_dims(kQuery);
    s->packed = !context.has_input(kKey);
    const std::int64_t parts = s->packed ? heads_ + 2 * kv_heads_ : heads_;
    if (q.size() != 3 || q[2] % parts != 0) context.Fail("query " + DimsToString(q));
    s->batch = q[0];
    s->length = q[1];
    s->size = q[2] / parts;
    if (!s->packed) {
      const std::int64_t wanted[] = {s->batch, s->length, kv_heads_ * s->size};
      const auto k = context.input_dims(kKey);
      const bool fits = context.has_input(kValue) &&
                        std::equal(k.begin(), k.end(), wanted, wanted + 3) &&
                        Product(context.input_dims(kValue)) == Product(k);
      if (!fits) context.Fail("query " + DimsToString(q) + " with key " + DimsToString(k));
    }
    if (context.has_input(kPastKey) != context.has_input(kPastValue))
      context.Fail("only one of past_key and past_value");
    if (context.has_input(kPastKey)) {
      const auto k = context.input_dims(kPastKey), v = context.input_dims(kPastValue);
      if (k.size() != 4 || k[0] != s->batch || k[1] != kv_heads_ || k[3] != s->size ||
          !std::equal(k.begin(), k.end(), v.begin(), v.end())) {
        context.Fail("past_key " + DimsToString(k) + ", past_value " + DimsToString(v));
      }
      s->past = k[2];
    }
    if (Product(context.input_dims(kLengths)) != s->batch)
      context.Fail("seqlens_k " + DimsToString(context.input_dims(kLengths)));
    if (rotary_) {
      const bool both = context.has_input(kCos) && context.has_input(kSin);
      const auto cosines = both ? context.input_dims(kCos) : std::span<const std::int64_t>();
      if (cosines.size() != 2 || cosines[1] * 2 > s->size ||
          Product(context.input_dims(kSin)) != Product(cosines)) {
        context.Fail("cos_cache " + DimsToString(cosines) + " for heads of " +
                     std::to_string(s->size));
      }
    }
    if (context.has_input(kSinks) && Product(context.input_dims(kSinks)) != heads_)
      context.Fail("head_sink " + DimsToString(context.input_dims(kSinks)));
    s->bound = s->past + s->length;
  }

  AttentionArgs<C> Sizes(const State& s, std::int64_t keys) const {
    AttentionArgs<C> args;
    args.batch = s.batch;
    args.heads = heads_;
    args.kv_heads = kv_heads_;
    args.queries = s.length;
    args.keys = keys;
    args.most_keys = s.bound;
    args.size = args.value_size = s.size;
    args.scale = static_cast<C>(
        scale_ != 0 ? scale_
                    : 1.0f / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, s.size))));
    args.softcap = static_cast<C>(softcap_);
    if (causal_) args.right = 0;
    // The window counts the query itself.
    args.left = window_ > 0 ? window_ - 1 : -1;
    args.smooth = smooth_;
    return args;
  }

  Counts ReadCounts(const OpKernelContext& context, const State& s, std::int64_t total,
                    std::byte* scratch) const {
    auto* before = reinterpret_cast<std::int64_t*>(scratch + s.counts_at);
    const Counts counts{before, before + s.batch};
    const Tensor& given = context.Input(kLengths);
    const auto* lengths = given.data<std::int32_t>();
    const bool prompt = s.length == total;
    for (std::int64_t b = 0; b < s.batch; ++b) {
      const std::int64_t all = std::int64_t{lengths[b]} + 1;
      counts.before[b] = prompt ? 0 : all - s.length;
      counts.seen[b] = all;
      if (all < 1 || all > total || counts.before[b] < 0 || counts.before[b] > s.past) {
        context.Fail("seqlens_k[" + std::to_string(b) + "] is " + std::to_string(lengths[b]) +
                     " of " + std::to_string(total) + " with a past of " + std::to_string(s.past) +
                     " and " + std::to_string(s.length) + " new tokens");
      }
    }
    return counts;
  }

  void SetOperands(OpKernelContext& context, const State& s, std::byte* scratch,
                   AttentionArgs<C>* args) const {
    const C* q = widening_.Read(context, context.Input(kQuery), scratch + s.q_at);
    const std::int64_t q_width = heads_ * s.size, kv_width = kv_heads_ * s.size;
    const std::int64_t pitch = s.packed ? q_width + 2 * kv_width : q_width;
    args->q = HeadsLast<const C*>(q, s.length, s.size, pitch);
    if (s.packed) {
      args->k = HeadsLast<const C*>(q + q_width, s.length, s.size, pitch);
      args->v = HeadsLast<const C*>(q + q_width + kv_width, s.length, s.size, pitch);
    } else {
      const C* k = widening_.ReadOptional(context, kKey, scratch + s.k_at);
      const C* v = widening_.ReadOptional(context, kValue, scratch + s.v_at);
      args->k = HeadsLast<const C*>(k, s.length, s.size, kv_width);
      args->v = HeadsLast<const C*>(v, s.length, s.size, kv_width);
    }
  }

  // Rotary embedding of queries and new keys, into scratch.
  void Turn(OpKernelContext& context, const State& s, const Counts& counts, std::byte* scratch,
            AttentionArgs<C>* args) const {
    const Tensor& table = context.Input(kCos);
    const std::int64_t half = table.dim(1), places = table.dim(0);
    const C* cosines = widening_.ReadOptional(context, kCos, scratch + s.cos_at);
    const C* sines = widening_.ReadOptional(context, kSin, scratch + s.sin_at);
    const Tensor* given = context.OptionalInput(kPositions);
    if (given != nullptr && given->size() != s.batch * s.length)
      context.Fail("position_ids " + given->Describe());
    const auto place = [&](std::int64_t b, std::int64_t t) {
      return given != nullptr ? given->data<std::int64_t>()[b * s.length + t]
                              : counts.before[b] + t;
    };
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t t = 0; t < s.length; ++t) {
        if (place(b, t) < 0 || place(b, t) >= places) {
          context.Fail("position " + std::to_string(place(b, t)) + " of a cache of " +
                       std::to_string(places));
        }
      }
    }
    HeadsView<const C*>* views[2] = {&args->q, &args->k};
    const std::int64_t heads[2] = {heads_, kv_heads_};
    const std::size_t rooms[2] = {s.turned_q_at, s.turned_k_at};
    for (int i = 0; i < 2; ++i) {
      auto* copy = reinterpret_cast<C*>(scratch + rooms[i]);
      const std::int64_t n = heads[i];
      const auto to = HeadsLast<C*>(copy, s.length, s.size, n * s.size);
      const HeadsView<const C*> from = *views[i];
      ParallelItems(context, s.batch * s.length, 1.5 * static_cast<double>(n * s.size),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        const std::int64_t b = r / s.length, t = r % s.length;
                        const std::int64_t at = place(b, t) * half;
                        for (std::int64_t h = 0; h < n; ++h) {
                          RotateHead(from.At(b, h, t), cosines + at, sines + at, s.size, 2 * half,
                                     interleaved_, to.At(b, h, t));
                        }
                      }
                    });
      *views[i] = HeadsLast<const C*>(copy, s.length, s.size, n * s.size);
    }
  }

  // The caches with the new keys and values behind the old ones, zeros after them.
  void Append(OpKernelContext& context, const State& s, const Counts& counts, std::int64_t capacity,
              std::byte* scratch, AttentionArgs<C>* args) const {
    const std::int64_t dims[] = {s.batch, kv_heads_, capacity, s.size};
    const std::size_t rooms[2] = {s.joined_k_at, s.joined_v_at};
    const std::size_t past_rooms[2] = {s.past_k_at, s.past_v_at};
    HeadsView<const C*>* views[2] = {&args->k, &args->v};
    for (std::size_t i = 0; i < 2; ++i) {
      Tensor* present = context.has_output(1 + i) ? &context.Output(1 + i, dims) : nullptr;
      C* joined = present != nullptr ? Widening<T>::Target(*present, scratch + rooms[i])
                                     : reinterpret_cast<C*>(scratch + rooms[i]);
      const C* past = widening_.ReadOptional(context, kPastKey + i, scratch + past_rooms[i]);
      const bool in_place = past == joined;
      const HeadsView<const C*> fresh = *views[i];
      ParallelItems(context, s.batch * kv_heads_, 0.3 * static_cast<double>(capacity * s.size),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t row = begin; row < end; ++row) {
                        const std::int64_t b = row / kv_heads_, h = row % kv_heads_;
                        const std::int64_t before = counts.before[b];
                        C* to = joined + row * capacity * s.size;
                        if (!in_place) {
                          if (past != nullptr)
                            std::copy_n(past + row * s.past * s.size, before * s.size, to);
                          std::fill(to + (before + s.length) * s.size, to + capacity * s.size,
                                    C(0));
                        }
                        for (std::int64_t t = 0; t < s.length; ++t)
                          std::copy_n(fresh.At(b, h, t), s.size, to + (before + t) * s.size);
                      }
                    });
      *views[i] = HeadsFirst<const C*>(joined, kv_heads_, capacity, s.size);
      if (present != nullptr) widening_.Finish(context, joined, *present);
    }
  }

  HeadsView<const C*> AddedView(OpKernelContext& context, const State& s, std::int64_t total,
                                const Tensor& added, std::byte* scratch,
                                AttentionArgs<C>* args) const {
    const bool fits = added.rank() == 4 && (added.dim(0) == 1 || added.dim(0) == s.batch) &&
                      (added.dim(1) == 1 || added.dim(1) == heads_) && added.dim(2) == s.length &&
                      added.dim(3) >= total;
    if (!fits) context.Fail("attention_bias " + added.Describe());
    args->mask_keys = added.dim(3);
    const std::int64_t plane = s.length * added.dim(3);
    return {widening_.Read(context, added, scratch + s.added_at),
            added.dim(0) == 1 ? 0 : added.dim(1) * plane, added.dim(1) == 1 ? 0 : plane,
            added.dim(3)};
  }

  std::int64_t heads_, kv_heads_, window_;
  bool causal_, rotary_, interleaved_, smooth_;
  float scale_, softcap_;
  std::int64_t kept_;
  math::IsaLevel level_;
  Widening<T> widening_;
  AttentionCore<C> core_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      ByFirstInput<GroupQuery>(KernelCreateInfo::For("GroupQueryAttention", "com.microsoft"),
                               TypeList<float, Float16, BFloat16>{}));
}

}  // namespace switchyard::cpu::kernels::group_query
