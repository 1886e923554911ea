// com.microsoft MultiHeadAttention: projected queries, keys and values in any of their layouts.

#include "providers/cpu/kernels/common/attention_core.h"
#include "providers/cpu/kernels/common/attention_mask.h"
#include "providers/cpu/kernels/common/typed_kernel.h"
#include "providers/cpu/kernels/common/wide_input.h"

namespace switchyard::cpu::kernels::multi_head {
namespace {

template <typename T>
class MultiHead final : public OpKernel {
  using C = ComputeOf<T>;
  enum : std::size_t {
    kQuery,
    kKey,
    kValue,
    kBias,
    kMask,
    kAdded,
    kPastKey,
    kPastValue,
    kPastLength,
    kIndirection
  };
  // Where queries, keys and values are.
  enum class Form : std::uint8_t { kSeparate, kPackedKeys, kPackedAll, kFlatAll, kHeadsFirstKeys };

  struct State {
    Form form;
    std::int64_t batch, length, key_length, past, total, size, value_size;
    PaddingMask mask;
    bool repeats;  // attention_bias has one value for all keys
    std::size_t core_at, q_at, k_at, v_at, bias_at, past_k_at, past_v_at, added_at, repeated_at,
        part_at[3], joined_k_at, joined_v_at, mask_at, out_at, scores_at;
  };

 public:
  explicit MultiHead(OpKernelInfo& info)
      : heads_(info.attributes().Int("num_heads", 0)),
        causal_(info.attributes().Int("unidirectional", 0) != 0),
        filter_(info.attributes().Float("mask_filter_value", -10000.0f)),
        scale_(info.attributes().Float("scale", 0)),
        level_(IsaOf(info)),
        widening_(level_),
        core_(level_) {
    if (heads_ < 1) info.Fail("num_heads is " + std::to_string(heads_));
    if (info.has_input(kPastLength) || info.has_input(kIndirection)) {
      info.Fail("past_sequence_length and cache_indirection are not supported on the CPU",
                ErrorCode::kNotImplemented);
    }
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    ReadSizes(context, &s);
    s.mask = PaddingMask::Of(context, kMask, s.batch, s.length, s.past, s.total, causal_);
    const auto input = [&](std::size_t i) {
      return Widening<T>::Room(context.has_input(i) ? Product(context.input_dims(i)) : 0);
    };
    const bool bias = context.has_input(kBias);
    const std::int64_t per_key = s.batch * heads_ * s.size,
                       per_value = s.batch * heads_ * s.value_size;
    ScratchLayout layout;
    s.core_at = layout.ReserveBytes(core_.Scratch(Sizes(s), context.team_size()));
    s.q_at = layout.Reserve<C>(input(kQuery));
    s.k_at = layout.Reserve<C>(input(kKey));
    s.v_at = layout.Reserve<C>(input(kValue));
    s.bias_at = layout.Reserve<C>(input(kBias));
    s.past_k_at = layout.Reserve<C>(input(kPastKey));
    s.past_v_at = layout.Reserve<C>(input(kPastValue));
    s.added_at = layout.Reserve<C>(input(kAdded));
    s.repeated_at =
        layout.Reserve<C>(s.repeats ? Product(context.input_dims(kAdded)) * s.total : 0);
    s.part_at[0] = layout.Reserve<C>(bias ? per_key * s.length : 0);
    s.part_at[1] = layout.Reserve<C>(bias ? per_key * s.key_length : 0);
    s.part_at[2] = layout.Reserve<C>(bias ? per_value * s.key_length : 0);
    const auto& outputs = context.node().outputs();
    const bool joins = context.has_input(kPastKey) || outputs.size() > 1;
    s.joined_k_at = layout.Reserve<C>(joins ? per_key * s.total : 0);
    s.joined_v_at = layout.Reserve<C>(joins ? per_value * s.total : 0);
    s.mask_at = layout.Reserve<C>(s.mask.size());
    s.out_at = layout.Reserve<C>(Widening<T>::Room(per_value * s.length));
    s.scores_at = layout.Reserve<C>(
        Widening<T>::Room(outputs.size() > 3 ? s.batch * heads_ * s.length * s.total : 0));
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    const std::int64_t out_dims[] = {s.batch, s.length, heads_ * s.value_size};
    Tensor& out = context.Output(0, out_dims);
    AttentionArgs<C> args = Sizes(s);
    SetOperands(context, s, scratch, &args);
    if (context.has_input(kBias)) AddBias(context, s, scratch, &args);
    Join(context, s, scratch, &args);
    if (s.mask.needed()) {
      auto* mask = reinterpret_cast<C*>(scratch + s.mask_at);
      s.mask.Fill(context, kMask, static_cast<C>(filter_), mask);
      args.masks[0] = s.mask.View(mask);
    }
    if (context.has_input(kAdded)) SetAdded(context, s, scratch, &args);
    C* result = Widening<T>::Target(out, scratch + s.out_at);
    args.out = HeadsLast<C*>(result, s.length, s.value_size, heads_ * s.value_size);
    Tensor* scores = nullptr;
    if (context.has_output(3)) {
      const std::int64_t dims[] = {s.batch, heads_, s.length, s.total};
      scores = &context.Output(3, dims);
      args.stage = ScoreStage::kScaled;
      args.scores = HeadsFirst<C*>(Widening<T>::Target(*scores, scratch + s.scores_at), heads_,
                                   s.length, s.total);
    }
    core_.Run(context, args, scratch + s.core_at);
    widening_.Finish(context, result, out);
    if (scores != nullptr) widening_.Finish(context, args.scores.data, *scores);
  }

 private:
  void ReadSizes(PrepareContext& context, State* s) const {
    const auto q = context.input_dims(kQuery);
    const auto k = context.has_input(kKey) ? context.input_dims(kKey) : q;
    const auto v = context.has_input(kValue) ? context.input_dims(kValue) : k;
    const auto bad = [&] {
      context.Fail("query " + DimsToString(q) + ", key " + DimsToString(k) + ", value " +
                   DimsToString(v) + ", num_heads " + std::to_string(heads_) +
                   " do not fit together");
    };
    if (q.size() != 3 && q.size() != 5) bad();
    s->batch = q[0];
    s->length = s->key_length = q[1];
    if (q.size() == 5) {
      s->form = Form::kPackedAll;
      if (q[2] != heads_ || q[3] != 3) bad();
      s->size = s->value_size = q[4];
    } else if (!context.has_input(kKey)) {
      s->form = Form::kFlatAll;
      if (q[2] % (3 * heads_) != 0) bad();
      s->size = s->value_size = q[2] / 3 / heads_;
    } else {
      if (q[2] % heads_ != 0 || k[0] != s->batch) bad();
      s->size = s->value_size = q[2] / heads_;
      if (k.size() == 5) {
        s->form = Form::kPackedKeys;
        if (k[2] != heads_ || k[3] != 2 || k[4] != s->size) bad();
        s->key_length = k[1];
      } else if (k.size() == 4) {
        s->form = Form::kHeadsFirstKeys;
        if (k[1] != heads_ || k[3] != s->size || !context.has_input(kValue) || v.size() != 4 ||
            v[0] != s->batch || v[1] != heads_ || v[2] != k[2])
          bad();
        s->key_length = k[2];
        s->value_size = v[3];
      } else {
        s->form = Form::kSeparate;
        if (k.size() != 3 || k[2] != q[2] || !context.has_input(kValue) || v.size() != 3 ||
            v[0] != s->batch || v[1] != k[1] || v[2] % heads_ != 0)
          bad();
        s->key_length = k[1];
        s->value_size = v[2] / heads_;
      }
    }
    if (context.has_input(kBias) &&
        Product(context.input_dims(kBias)) != heads_ * (2 * s->size + s->value_size)) {
      context.Fail("bias " + DimsToString(context.input_dims(kBias)));
    }
    ReadPast(context, s);
  }

  void ReadPast(PrepareContext& context, State* s) const {
    if (context.has_input(kPastKey) != context.has_input(kPastValue))
      context.Fail("only one of past_key and past_value");
    if (context.has_input(kPastKey)) {
      const auto k = context.input_dims(kPastKey), v = context.input_dims(kPastValue);
      if (k.size() != 4 || v.size() != 4 || k[0] != s->batch || k[1] != heads_ || k[3] != s->size ||
          v[0] != s->batch || v[1] != heads_ || v[2] != k[2] || v[3] != s->value_size) {
        context.Fail("past_key " + DimsToString(k) + ", past_value " + DimsToString(v));
      }
      s->past = k[2];
    }
    s->total = s->past + s->key_length;
    if (context.has_input(kAdded)) {
      const auto d = context.input_dims(kAdded);
      const auto one_or = [](std::int64_t dim, std::int64_t n) { return dim == 1 || dim == n; };
      if (d.size() != 4 || !one_or(d[0], s->batch) || !one_or(d[1], heads_) ||
          !one_or(d[2], s->length) || !one_or(d[3], s->total)) {
        context.Fail("attention_bias " + DimsToString(d) + " for " + std::to_string(s->length) +
                     " queries and " + std::to_string(s->total) + " keys");
      }
      s->repeats = d[3] != s->total;
    }
  }

  // The operator's text wants all queries and keys in attention_bias; others broadcast here.
  void SetAdded(OpKernelContext& context, const State& s, std::byte* scratch,
                AttentionArgs<C>* args) const {
    const Tensor& added = context.Input(kAdded);
    const C* values = widening_.Read(context, added, scratch + s.added_at);
    if (s.repeats) {
      auto* repeated = reinterpret_cast<C*>(scratch + s.repeated_at);
      for (std::int64_t i = 0; i < added.size(); ++i)
        std::fill_n(repeated + i * s.total, s.total, values[i]);
      values = repeated;
    }
    const std::int64_t head = added.dim(2) * s.total;
    args->masks[1] = {values, added.dim(0) == 1 ? 0 : added.dim(1) * head,
                      added.dim(1) == 1 ? 0 : head, added.dim(2) == 1 ? 0 : s.total};
  }

  AttentionArgs<C> Sizes(const State& s) const {
    AttentionArgs<C> args;
    args.batch = s.batch;
    args.heads = args.kv_heads = heads_;
    args.queries = s.length;
    args.keys = s.total;
    args.size = s.size;
    args.value_size = s.value_size;
    args.scale = static_cast<C>(
        scale_ != 0 ? scale_
                    : 1.0f / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, s.size))));
    return args;
  }

  void SetOperands(OpKernelContext& context, const State& s, std::byte* scratch,
                   AttentionArgs<C>* args) const {
    const C* q = widening_.Read(context, context.Input(kQuery), scratch + s.q_at);
    const C* k = widening_.ReadOptional(context, kKey, scratch + s.k_at);
    const C* v = widening_.ReadOptional(context, kValue, scratch + s.v_at);
    const std::int64_t width = heads_ * s.size;
    args->q = HeadsLast<const C*>(q, s.length, s.size, width);
    switch (s.form) {
      case Form::kSeparate:
        args->k = HeadsLast<const C*>(k, s.key_length, s.size, width);
        args->v = HeadsLast<const C*>(v, s.key_length, s.value_size, heads_ * s.value_size);
        break;
      case Form::kHeadsFirstKeys:
        args->k = HeadsFirst<const C*>(k, heads_, s.key_length, s.size);
        args->v = HeadsFirst<const C*>(v, heads_, s.key_length, s.value_size);
        break;
      case Form::kPackedKeys:
        args->k = {k, s.key_length * 2 * width, 2 * s.size, 2 * width};
        args->v = {k + s.size, s.key_length * 2 * width, 2 * s.size, 2 * width};
        break;
      case Form::kPackedAll:
        args->q = {q, s.length * 3 * width, 3 * s.size, 3 * width};
        args->k = args->v = args->q;
        args->k.data += s.size;
        args->v.data += 2 * s.size;
        break;
      case Form::kFlatAll:
        args->q = HeadsLast<const C*>(q, s.length, s.size, 3 * width);
        args->k = args->v = args->q;
        args->k.data += width;
        args->v.data += 2 * width;
        break;
    }
  }

  // Copies queries, keys and values with their biases added. Keys by heads come from elsewhere
  // and have theirs already.
  void AddBias(OpKernelContext& context, const State& s, std::byte* scratch,
               AttentionArgs<C>* args) const {
    const C* bias = widening_.ReadOptional(context, kBias, scratch + s.bias_at);
    HeadsView<const C*>* views[3] = {&args->q, &args->k, &args->v};
    const std::int64_t rows[3] = {s.length, s.key_length, s.key_length};
    const std::int64_t sizes[3] = {s.size, s.size, s.value_size};
    const int parts = s.form == Form::kHeadsFirstKeys ? 1 : 3;
    for (int part = 0; part < parts; ++part) {
      const std::int64_t n = sizes[part], length = rows[part];
      auto* copy = reinterpret_cast<C*>(scratch + s.part_at[part]);
      const auto to = HeadsLast<C*>(copy, length, n, heads_ * n);
      const HeadsView<const C*> from = *views[part];
      ParallelItems(context, s.batch * length, 0.6 * static_cast<double>(heads_ * n),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        for (std::int64_t h = 0; h < heads_; ++h) {
                          const C* x = from.At(i / length, h, i % length);
                          C* y = to.At(i / length, h, i % length);
                          for (std::int64_t c = 0; c < n; ++c) y[c] = x[c] + bias[h * n + c];
                        }
                      }
                    });
      *views[part] = HeadsLast<const C*>(copy, length, n, heads_ * n);
      bias += heads_ * n;
    }
  }

  void Join(OpKernelContext& context, const State& s, std::byte* scratch,
            AttentionArgs<C>* args) const {
    const std::int64_t sizes[2] = {s.size, s.value_size};
    const std::size_t rooms[2] = {s.joined_k_at, s.joined_v_at};
    const std::size_t past_rooms[2] = {s.past_k_at, s.past_v_at};
    HeadsView<const C*>* views[2] = {&args->k, &args->v};
    for (std::size_t i = 0; i < 2; ++i) {
      const bool wanted = context.has_output(1 + i);
      if (!wanted && !context.has_input(kPastKey)) continue;
      const std::int64_t dims[] = {s.batch, heads_, s.total, sizes[i]};
      Tensor* present = wanted ? &context.Output(1 + i, dims) : nullptr;
      C* joined = present != nullptr ? Widening<T>::Target(*present, scratch + rooms[i])
                                     : reinterpret_cast<C*>(scratch + rooms[i]);
      const C* past = widening_.ReadOptional(context, kPastKey + i, scratch + past_rooms[i]);
      JoinPast(context, s.batch, heads_, sizes[i], past, s.past, *views[i], s.key_length,
               HeadsFirst<C*>(joined, heads_, s.total, sizes[i]));
      *views[i] = HeadsFirst<const C*>(joined, heads_, s.total, sizes[i]);
      if (present != nullptr) widening_.Finish(context, joined, *present);
    }
  }

  std::int64_t heads_;
  bool causal_;
  float filter_, scale_;
  math::IsaLevel level_;
  Widening<T> widening_;
  AttentionCore<C> core_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      ByFirstInput<MultiHead>(KernelCreateInfo::For("MultiHeadAttention", "com.microsoft"),
                              TypeList<float, Float16, BFloat16>{}));
}

}  // namespace switchyard::cpu::kernels::multi_head
