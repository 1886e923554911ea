// com.microsoft Attention: queries, keys and values by one projection, then attention by heads with
// the past's keys and values in front.

#include <limits>

#include "providers/cpu/kernels/common/attention_core.h"
#include "providers/cpu/kernels/common/attention_mask.h"
#include "providers/cpu/kernels/common/packed_matrix.h"
#include "providers/cpu/kernels/common/typed_kernel.h"

namespace switchyard::cpu::kernels::contrib_attention {
namespace {

using math::MatrixForm;

template <typename T>
class Attention final : public OpKernel {
  using C = ComputeOf<T>;
  enum : std::size_t { kX, kWeight, kBias, kMask, kPast, kAdded };

  struct State {
    std::int64_t batch, length, width, past, total;
    std::int64_t q_width, k_width, v_width;
    PaddingMask mask;
    math::GemmPlan plan;
    std::size_t product_at, core_at, x_at, w_at, bias_at, past_at, added_at, qkv_at, present_at,
        mask_at, out_at;
    std::int64_t all_width() const { return q_width + k_width + v_width; }
  };

 public:
  explicit Attention(OpKernelInfo& info)
      : heads_(info.attributes().Int("num_heads", 0)),
        causal_(info.attributes().Int("unidirectional", 0) != 0),
        filter_(info.attributes().Float("mask_filter_value", -10000.0f)),
        scale_(info.attributes().Float("scale", 0)),
        sizes_(info.attributes().Ints("qkv_hidden_sizes")),
        level_(IsaOf(info)),
        ops_(GemmOpsOf<C>(level_)),
        widening_(level_),
        core_(level_) {
    if (heads_ < 1) info.Fail("num_heads is " + std::to_string(heads_));
    if (info.attributes().Int("do_rotary", 0) != 0)
      info.Fail("do_rotary is not supported on the CPU", ErrorCode::kNotImplemented);
    if (info.attributes().Int("past_present_share_buffer", 0) != 0) {
      info.Fail("past_present_share_buffer is not supported on the CPU",
                ErrorCode::kNotImplemented);
    }
    if (const Constant* w = PackableMatrix(info, kWeight); w != nullptr)
      packed_ = info.RequestPacked(kWeight, PackedMatrix<T>(*w, level_, false));
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    ReadSizes(context, &s);
    s.mask = PaddingMask::Of(context, kMask, s.batch, s.length, s.past, s.total, causal_);
    const std::int64_t rows = s.batch * s.length, all = s.all_width();
    s.plan = ops_.plan({rows, all, s.width, 1, MatrixForm::kRowMajor,
                        packed_ >= 0 ? MatrixForm::kPacked : MatrixForm::kRowMajor});
    const auto room = [](std::int64_t n) { return Widening<T>::Room(n); };
    const auto input = [&](std::size_t i) {
      return room(context.has_input(i) ? Product(context.input_dims(i)) : 0);
    };
    ScratchLayout layout;
    s.product_at = layout.ReserveBytes(ProductScratch(s.plan, context.team_size()));
    s.core_at = layout.ReserveBytes(core_.Scratch(Sizes(s), context.team_size()));
    s.x_at = layout.Reserve<C>(input(kX));
    s.w_at = layout.Reserve<C>(packed_ >= 0 ? 0 : input(kWeight));
    s.bias_at = layout.Reserve<C>(input(kBias));
    s.past_at = layout.Reserve<C>(input(kPast));
    s.added_at = layout.Reserve<C>(input(kAdded));
    s.qkv_at = layout.Reserve<C>(rows * all);
    s.present_at = layout.Reserve<C>(s.batch * s.total * (s.k_width + s.v_width));
    s.mask_at = layout.Reserve<C>(s.mask.size());
    s.out_at = layout.Reserve<C>(room(rows * s.v_width));
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    const std::int64_t out_dims[] = {s.batch, s.length, s.v_width};
    Tensor& out = context.Output(0, out_dims);
    const auto* qkv = Project(context, s, scratch);
    AttentionArgs<C> args = Sizes(s);
    const std::int64_t all = s.all_width();
    args.q = HeadsLast<const C*>(qkv, s.length, args.size, all);
    args.k = HeadsLast<const C*>(qkv + s.q_width, s.length, args.size, all);
    args.v = HeadsLast<const C*>(qkv + s.q_width + s.k_width, s.length, args.value_size, all);
    if (context.has_input(kPast) || context.has_output(1)) Join(context, s, scratch, &args);
    C* result = Widening<T>::Target(out, scratch + s.out_at);
    args.out = HeadsLast<C*>(result, s.length, args.value_size, s.v_width);
    if (s.mask.needed()) {
      auto* mask = reinterpret_cast<C*>(scratch + s.mask_at);
      s.mask.Fill(context, kMask, static_cast<C>(filter_), mask);
      args.masks[0] = s.mask.View(mask);
    }
    if (const Tensor* added = context.OptionalInput(kAdded); added != nullptr) {
      args.masks[1] = {widening_.Read(context, *added, scratch + s.added_at),
                       added->dim(0) == 1 ? 0 : added->dim(1) * s.length * s.total,
                       added->dim(1) == 1 ? 0 : s.length * s.total, s.total};
    }
    core_.Run(context, args, scratch + s.core_at);
    widening_.Finish(context, result, out);
  }

 private:
  void ReadSizes(PrepareContext& context, State* s) const {
    const auto x = context.input_dims(kX), w = context.input_dims(kWeight);
    if (x.size() != 3 || w.size() != 2 || w[0] != x[2])
      context.Fail("input " + DimsToString(x) + " and weights " + DimsToString(w));
    s->batch = x[0];
    s->length = x[1];
    s->width = x[2];
    s->q_width = s->k_width = s->v_width = w[1] / 3;
    if (sizes_.size() == 3) {
      s->q_width = sizes_[0];
      s->k_width = sizes_[1];
      s->v_width = sizes_[2];
    }
    if (s->all_width() != w[1] || s->q_width != s->k_width || s->q_width % heads_ != 0 ||
        s->v_width % heads_ != 0) {
      context.Fail("weights " + DimsToString(w) + ", qkv_hidden_sizes " + DimsToString(sizes_) +
                   ", num_heads " + std::to_string(heads_) + " do not fit together");
    }
    if (context.has_input(kBias) && Product(context.input_dims(kBias)) != w[1])
      context.Fail("bias " + DimsToString(context.input_dims(kBias)));
    if (context.has_input(kPast)) {
      const auto past = context.input_dims(kPast);
      if (past.size() != 5 || past[0] != 2 || past[1] != s->batch || past[2] != heads_ ||
          past[4] * heads_ != s->k_width) {
        context.Fail("past " + DimsToString(past));
      }
      s->past = past[3];
    }
    if ((context.has_input(kPast)) && s->k_width != s->v_width)
      context.Fail("a past with keys and values of different sizes");
    s->total = s->past + s->length;
    if (context.has_input(kAdded)) {
      const auto d = context.input_dims(kAdded);
      if (d.size() != 4 || (d[0] != 1 && d[0] != s->batch) || (d[1] != 1 && d[1] != heads_) ||
          d[2] != s->length || d[3] != s->total) {
        context.Fail("attention_bias " + DimsToString(d));
      }
    }
  }

  AttentionArgs<C> Sizes(const State& s) const {
    AttentionArgs<C> args;
    args.batch = s.batch;
    args.heads = args.kv_heads = heads_;
    args.queries = s.length;
    args.keys = s.total;
    args.size = s.q_width / heads_;
    args.value_size = s.v_width / heads_;
    args.scale = static_cast<C>(
        scale_ != 0 ? scale_
                    : 1.0f / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, args.size))));
    return args;
  }

  const C* Project(OpKernelContext& context, const State& s, std::byte* scratch) const {
    auto* qkv = reinterpret_cast<C*>(scratch + s.qkv_at);
    math::EpilogueT<C> epilogue;
    epilogue.bias_col = widening_.ReadOptional(context, kBias, scratch + s.bias_at);
    math::GemmArgsT<C> args;
    args.a = widening_.Read(context, context.Input(kX), scratch + s.x_at);
    args.lda = s.width;
    args.b = packed_ >= 0 ? reinterpret_cast<const C*>(context.Packed(packed_))
                          : widening_.Read(context, context.Input(kWeight), scratch + s.w_at);
    args.ldb = args.ldc = s.all_width();
    args.c = qkv;
    args.epilogue = &epilogue;
    RunProduct(context.team(), ops_, s.plan, args, scratch + s.product_at);
    return qkv;
  }

  // Past and new keys and values, each [batch, heads, total, size], which is also the present.
  void Join(OpKernelContext& context, const State& s, std::byte* scratch,
            AttentionArgs<C>* args) const {
    const std::int64_t size = args->size;
    Tensor* present = nullptr;
    if (context.has_output(1)) {
      const std::int64_t dims[] = {2, s.batch, heads_, s.total, size};
      if (s.k_width != s.v_width) context.Fail("a present with keys and values of different sizes");
      present = &context.Output(1, dims);
    }
    C* joined = present != nullptr && !kIsHalf<T> ? static_cast<C*>(present->raw_mutable())
                                                  : reinterpret_cast<C*>(scratch + s.present_at);
    const C* past = widening_.ReadOptional(context, kPast, scratch + s.past_at);
    const std::int64_t half = s.batch * heads_ * s.total * size;
    const C* pasts[2] = {past, past != nullptr ? past + s.batch * heads_ * s.past * size : nullptr};
    const HeadsView<const C*> fresh[2] = {args->k, args->v};
    for (int i = 0; i < 2; ++i) {
      const auto to = HeadsFirst<C*>(joined + i * half, heads_, s.total, size);
      JoinPast(context, s.batch, heads_, size, pasts[i], s.past, fresh[i], s.length, to);
    }
    args->k = HeadsFirst<const C*>(joined, heads_, s.total, size);
    args->v = HeadsFirst<const C*>(joined + half, heads_, s.total, size);
    if (present != nullptr) widening_.Finish(context, joined, *present);
  }

  std::int64_t heads_;
  bool causal_;
  float filter_, scale_;
  Dims sizes_;
  math::IsaLevel level_;
  const math::GemmOpsT<C>& ops_;
  Widening<T> widening_;
  AttentionCore<C> core_;
  int packed_ = -1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(ByFirstInput<Attention>(KernelCreateInfo::For("Attention", "com.microsoft"),
                                            TypeList<float, Float16, BFloat16>{}));
}

}  // namespace switchyard::cpu::kernels::contrib_attention
