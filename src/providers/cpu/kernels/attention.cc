// Attention of the standard: past and present keys, boolean or float masks, windows, soft cap.

#include <limits>

#include "providers/cpu/kernels/common/attention_core.h"
#include "providers/cpu/kernels/common/typed_kernel.h"
#include "providers/cpu/kernels/common/wide_input.h"

namespace switchyard::cpu::kernels::attention {
namespace {

template <typename T>
class Attention final : public OpKernel {
  using C = ComputeOf<T>;
  enum : std::size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kCounts };

  // [batch, heads, length, size], or [batch, length, heads * size].
  struct Layout {
    std::int64_t batch, heads, length, size;
    bool flat;
    template <typename P>
    HeadsView<P> View(P data) const {
      return flat ? HeadsLast<P>(data, length, size, heads * size)
                  : HeadsFirst<P>(data, heads, length, size);
    }
  };
  struct State {
    Layout q, k, v;
    std::int64_t past, total;
    PodDims mask;  // aligned to four dims
    std::size_t core_at, q_at, k_at, v_at, past_k_at, past_v_at, mask_at, joined_k_at, joined_v_at,
        counts_at, out_at, scores_at;
  };

 public:
  explicit Attention(OpKernelInfo& info)
      : q_heads_(info.attributes().Int("q_num_heads", 0)),
        kv_heads_(info.attributes().Int("kv_num_heads", 0)),
        left_(info.attributes().Int("left_window_size", -1)),
        right_(info.attributes().Int("is_causal", 0) != 0
                   ? 0
                   : info.attributes().Int("right_window_size", -1)),
        scale_(info.attributes().Float("scale", 0)),
        softcap_(info.attributes().Float("softcap", 0)),
        kept_(info.attributes().Int("qk_matmul_output_mode", 0)),
        level_(IsaOf(info)),
        widening_(level_),
        core_(level_) {}

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    ReadSizes(context, &s);
    const auto input = [&](std::size_t i) {
      return Widening<T>::Room(context.has_input(i) ? Product(context.input_dims(i)) : 0);
    };
    const std::int64_t scores = s.q.batch * s.q.heads * s.q.length * s.total;
    ScratchLayout layout;
    s.core_at = layout.ReserveBytes(core_.Scratch(Sizes(s), context.team_size()));
    s.q_at = layout.Reserve<C>(input(kQ));
    s.k_at = layout.Reserve<C>(input(kK));
    s.v_at = layout.Reserve<C>(input(kV));
    s.past_k_at = layout.Reserve<C>(input(kPastKey));
    s.past_v_at = layout.Reserve<C>(input(kPastValue));
    s.mask_at =
        layout.Reserve<C>(context.has_input(kMask) ? Product(context.input_dims(kMask)) : 0);
    const std::int64_t joined = context.has_input(kPastKey) || context.node().outputs().size() > 1
                                    ? s.k.batch * s.k.heads * s.total
                                    : 0;
    s.joined_k_at = layout.Reserve<C>(joined * s.k.size);
    s.joined_v_at = layout.Reserve<C>(joined * s.v.size);
    s.counts_at = layout.Reserve<std::int64_t>(2 * s.q.batch);
    s.out_at = layout.Reserve<C>(Widening<T>::Room(s.q.batch * s.q.heads * s.q.length * s.v.size));
    s.scores_at = layout.Reserve<C>(Widening<T>::Room(scores));
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    AttentionArgs<C> args = Sizes(s);
    args.q = s.q.View(widening_.Read(context, context.Input(kQ), scratch + s.q_at));
    args.k = s.k.View(widening_.Read(context, context.Input(kK), scratch + s.k_at));
    args.v = s.v.View(widening_.Read(context, context.Input(kV), scratch + s.v_at));
    Join(context, s, 0, scratch + s.past_k_at, scratch + s.joined_k_at, s.k, &args.k);
    Join(context, s, 1, scratch + s.past_v_at, scratch + s.joined_v_at, s.v, &args.v);
    if (context.has_input(kMask)) SetMask(context, s, scratch, &args);
    if (context.has_input(kCounts)) SetCounts(context, s, scratch, &args);
    const Layout out_layout{s.q.batch, s.q.heads, s.q.length, s.v.size, s.q.flat};
    const Dims out_dims = s.q.flat ? Dims{s.q.batch, s.q.length, s.q.heads * s.v.size}
                                   : Dims{s.q.batch, s.q.heads, s.q.length, s.v.size};
    Tensor& y = context.Output(0, out_dims);
    C* out = Widening<T>::Target(y, scratch + s.out_at);
    args.out = out_layout.View(out);
    Tensor* scores = nullptr;
    if (context.has_output(3)) {
      constexpr ScoreStage kStages[] = {ScoreStage::kScaled, ScoreStage::kCapped,
                                        ScoreStage::kMasked, ScoreStage::kSoftmax};
      if (kept_ < 0 || kept_ > 3) context.Fail("qk_matmul_output_mode is " + std::to_string(kept_));
      const std::int64_t dims[] = {s.q.batch, s.q.heads, s.q.length, s.total};
      scores = &context.Output(3, dims);
      args.stage = kStages[kept_];
      args.scores = HeadsFirst<C*>(Widening<T>::Target(*scores, scratch + s.scores_at), s.q.heads,
                                   s.q.length, s.total);
    }
    core_.Run(context, args, scratch + s.core_at);
    widening_.Finish(context, out, y);
    if (scores != nullptr) widening_.Finish(context, args.scores.data, *scores);
  }

 private:
  static Layout Read(const PrepareContext& context, std::size_t input, std::int64_t heads) {
    const auto d = context.input_dims(input);
    if (d.size() == 4) return {d[0], d[1], d[2], d[3], false};
    if (d.size() != 3 || heads < 1 || d[2] % heads != 0) {
      context.Fail("input " + std::to_string(input) + " is " + DimsToString(d) + " with " +
                   std::to_string(heads) + " heads");
    }
    return {d[0], heads, d[1], d[2] / heads, true};
  }

  void ReadSizes(PrepareContext& context, State* s) const {
    s->q = Read(context, kQ, q_heads_);
    s->k = Read(context, kK, kv_heads_);
    s->v = Read(context, kV, kv_heads_);
    const bool fits = s->k.batch == s->q.batch && s->v.batch == s->q.batch &&
                      s->k.size == s->q.size && s->k.heads == s->v.heads &&
                      s->k.length == s->v.length && s->k.heads > 0 && s->q.heads % s->k.heads == 0;
    if (!fits) {
      context.Fail("Q " + DimsToString(context.input_dims(kQ)) + ", K " +
                   DimsToString(context.input_dims(kK)) + ", V " +
                   DimsToString(context.input_dims(kV)) + " do not fit together");
    }
    if (context.has_input(kPastKey) != context.has_input(kPastValue))
      context.Fail("only one of past_key and past_value");
    if (context.has_input(kPastKey)) {
      const auto k = context.input_dims(kPastKey), v = context.input_dims(kPastValue);
      if (k.size() != 4 || v.size() != 4 || k[0] != s->k.batch || k[1] != s->k.heads ||
          k[3] != s->k.size || v[0] != k[0] || v[1] != k[1] || v[2] != k[2] || v[3] != s->v.size) {
        context.Fail("past_key " + DimsToString(k) + ", past_value " + DimsToString(v));
      }
      s->past = k[2];
    }
    s->total = s->past + s->k.length;
    if (context.has_input(kMask)) ReadMask(context, s);
    if (context.has_input(kCounts) && Product(context.input_dims(kCounts)) != s->q.batch)
      context.Fail("nonpad_kv_seqlen " + DimsToString(context.input_dims(kCounts)));
  }

  static void ReadMask(PrepareContext& context, State* s) {
    const auto d = context.input_dims(kMask);
    Dims aligned(d);
    while (aligned.size() < 4) aligned.insert(aligned.begin(), 1);
    const auto one_or = [](std::int64_t dim, std::int64_t n) { return dim == 1 || dim == n; };
    if (aligned.size() != 4 || !one_or(aligned[0], s->q.batch) || !one_or(aligned[1], s->q.heads) ||
        !one_or(aligned[2], s->q.length) || aligned[3] > s->total) {
      context.Fail("attn_mask " + DimsToString(d) + " for " + std::to_string(s->q.length) +
                   " queries and " + std::to_string(s->total) + " keys");
    }
    StoreDims(context, aligned, &s->mask);
  }

  AttentionArgs<C> Sizes(const State& s) const {
    AttentionArgs<C> args;
    args.batch = s.q.batch;
    args.heads = s.q.heads;
    args.kv_heads = s.k.heads;
    args.queries = s.q.length;
    args.keys = s.total;
    args.size = s.q.size;
    args.value_size = s.v.size;
    args.scale = scale_ != 0
                     ? static_cast<C>(scale_)
                     : C(1) / std::sqrt(static_cast<C>(std::max<std::int64_t>(1, s.q.size)));
    args.softcap = static_cast<C>(softcap_);
    args.left = left_;
    args.right = right_;
    args.offset = s.past;
    return args;
  }

  void Join(OpKernelContext& context, const State& s, std::size_t which, std::byte* past_room,
            std::byte* room, const Layout& layout, HeadsView<const C*>* view) const {
    const bool wanted = context.has_output(1 + which);
    if (!wanted && !context.has_input(kPastKey)) return;
    const std::int64_t dims[] = {layout.batch, layout.heads, s.total, layout.size};
    Tensor* present = wanted ? &context.Output(1 + which, dims) : nullptr;
    C* joined =
        present != nullptr ? Widening<T>::Target(*present, room) : reinterpret_cast<C*>(room);
    const C* past = widening_.ReadOptional(context, kPastKey + which, past_room);
    JoinPast(context, layout.batch, layout.heads, layout.size, past, s.past, *view, layout.length,
             HeadsFirst<C*>(joined, layout.heads, s.total, layout.size));
    *view = HeadsFirst<const C*>(joined, layout.heads, s.total, layout.size);
    if (present != nullptr) widening_.Finish(context, joined, *present);
  }

  void SetMask(OpKernelContext& context, const State& s, std::byte* scratch,
               AttentionArgs<C>* args) const {
    const Tensor& mask = context.Input(kMask);
    const std::int64_t* d = s.mask.d;
    const C* values = nullptr;
    if (mask.type() == DataType::kBool) {
      auto* to = reinterpret_cast<C*>(scratch + s.mask_at);
      const auto* seen = static_cast<const std::uint8_t*>(mask.raw());
      for (std::int64_t i = 0; i < mask.size(); ++i)
        to[i] = seen[i] != 0 ? C(0) : -std::numeric_limits<C>::infinity();
      values = to;
    } else {
      values = widening_.Read(context, mask, scratch + s.mask_at);
    }
    args->mask_keys = d[3];
    const std::int64_t head = d[2] * d[3], batch = d[1] * head;
    args->masks[0] = {values, d[0] == 1 ? 0 : batch, d[1] == 1 ? 0 : head, d[2] == 1 ? 0 : d[3]};
  }

  void SetCounts(OpKernelContext& context, const State& s, std::byte* scratch,
                 AttentionArgs<C>* args) const {
    auto* counts = reinterpret_cast<std::int64_t*>(scratch + s.counts_at);
    const Tensor& given = context.Input(kCounts);
    for (std::int64_t b = 0; b < s.q.batch; ++b) {
      const std::int64_t count = given.data<std::int64_t>()[b];
      if (count < 0 || count > s.total)
        context.Fail("nonpad_kv_seqlen holds " + std::to_string(count) + " of " +
                     std::to_string(s.total));
      counts[b] = count;
      counts[s.q.batch + b] = count - s.q.length;
    }
    args->key_counts = counts;
    args->offsets = counts + s.q.batch;
  }

  std::int64_t q_heads_, kv_heads_, left_, right_;
  float scale_, softcap_;
  std::int64_t kept_;
  math::IsaLevel level_;
  Widening<T> widening_;
  AttentionCore<C> core_;
};

std::string OneType(const Node& node) {
  const DataType type = node.inputs()[0]->type().elem;
  for (std::size_t i = 1; i < node.inputs().size() && i < 6; ++i) {
    const NodeArg* input = node.inputs()[i];
    if (input == nullptr || (i == 3 && input->type().elem == DataType::kBool)) continue;
    if (input->type().elem != type) return "inputs of different types";
  }
  return {};
}

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      ByFirstInput<Attention>(KernelCreateInfo::For("Attention").Accepts(OneType), FloatTypes{}));
}

}  // namespace switchyard::cpu::kernels::attention
