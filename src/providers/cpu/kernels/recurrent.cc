// RNN, GRU and LSTM. All steps' input products are one matrix product; the recurrent one runs per
// step and adds to it in place. Constant weights are packed at load; 16-bit floats are computed in
// float. The two directions run on two threads where they are long enough.

#include <array>
#include <vector>

#include "providers/cpu/kernels/common/product.h"
#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::kernels::recurrent {
namespace {

using math::ElemType;
using math::GemmPlan;
using math::GemmShape;
using math::MatrixForm;
using math::UnaryOp;

enum class Cell { kRnn, kGru, kLstm };

// One of the activations that a node names.
struct Gate {
  math::UnaryKernel kernel;
  float p0 = 0, p1 = 0;
  float before = 1, after = 1;  // ScaledTanh
  bool operator==(const Gate& o) const {
    return kernel.fn == o.kernel.fn && p0 == o.p0 && p1 == o.p1 && before == o.before &&
           after == o.after;
  }

  template <typename C>
  void Apply(C* x, std::int64_t n) const {
    Scale(x, n, before);
    math::RunUnary(kernel, x, x, n, p0, p1);
    Scale(x, n, after);
  }

 private:
  template <typename C>
  static void Scale(C* x, std::int64_t n, float factor) {
    if (factor == 1) return;
    for (std::int64_t i = 0; i < n; ++i) x[i] *= static_cast<C>(factor);
  }
};

struct NamedActivation {
  std::string_view name;
  UnaryOp op;
  bool takes_alpha, takes_beta;
  float alpha, beta;  // where the node gives none
};

constexpr NamedActivation kActivations[] = {
    {"relu", UnaryOp::kRelu, false, false, 0, 0},
    {"tanh", UnaryOp::kTanh, false, false, 0, 0},
    {"sigmoid", UnaryOp::kSigmoid, false, false, 0, 0},
    {"affine", UnaryOp::kAffine, true, true, 1, 0},
    {"leakyrelu", UnaryOp::kLeakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", UnaryOp::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", UnaryOp::kTanh, true, true, 1, 1},
    {"hardsigmoid", UnaryOp::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", UnaryOp::kElu, true, false, 1, 0},
    {"softsign", UnaryOp::kSoftsign, false, false, 0, 0},
    {"softplus", UnaryOp::kSoftplus, false, false, 0, 0},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The node's activations for all directions; alphas and betas go to those that take one, in order.
std::vector<Gate> ReadGates(const OpKernelInfo& info, std::span<const std::string_view> defaults,
                            std::size_t directions, ElemType type, math::IsaLevel level) {
  std::vector<std::string> names;
  for (const std::string& name : info.attributes().Strings("activations")) names.push_back(name);
  if (names.empty()) {
    for (std::size_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != defaults.size() * directions) {
    info.Fail(std::to_string(names.size()) + " activations, expected " +
              std::to_string(defaults.size() * directions));
  }
  const auto alphas = info.attributes().Floats("activation_alpha");
  const auto betas = info.attributes().Floats("activation_beta");
  std::size_t next_alpha = 0, next_beta = 0;
  std::vector<Gate> gates;
  for (const std::string& name : names) {
    const std::string lower = Lower(name);
    const auto* known = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const NamedActivation& a) { return a.name == lower; });
    if (known == std::end(kActivations)) info.Fail("the activation '" + name + "' is not known");
    Gate gate;
    gate.kernel = math::GetUnary(known->op, type, level);
    gate.p0 = known->alpha;
    gate.p1 = known->beta;
    if (known->takes_alpha && next_alpha < alphas.size()) gate.p0 = alphas[next_alpha++];
    if (known->takes_beta && next_beta < betas.size()) gate.p1 = betas[next_beta++];
    if (lower == "scaledtanh") {
      gate.before = gate.p1;
      gate.after = gate.p0;
      gate.p0 = gate.p1 = 0;
    }
    gates.push_back(gate);
  }
  return gates;
}

template <typename T, Cell kCell>
class Recurrent final : public OpKernel {
  using C = ComputeOf<T>;
  static constexpr bool kConverts = kIsHalf<T>;
  static constexpr std::int64_t kGates = kCell == Cell::kLstm ? 4 : kCell == Cell::kGru ? 3 : 1;
  static constexpr std::size_t kFunctions = kCell == Cell::kLstm ? 3 : kCell == Cell::kGru ? 2 : 1;

  struct State {
    std::int64_t steps, batch, input, hidden;
    GemmPlan input_plan, step_plan, reset_plan;
    std::size_t product_bytes;  // of one direction
    std::size_t x_at, w_at, r_at, p_at, bias_at, gates_at, part_at, h_at, c_at;
  };

  // What the steps of one direction work on.
  struct Run {
    std::int64_t direction;
    const C* r;                      // the step product's right-hand matrix
    const C* r_reset;                // GRU's second one, where the reset comes first
    const C* bias;                   // [kGates * hidden], folded into the input product
    const C* hidden_bias = nullptr;  // GRU's of the hidden gate, where the reset comes last
    const C* peephole = nullptr;
    C* gates;  // row (t, b) at RowOf
    C* part;   // [batch, kGates * hidden]
    C* h;
    C* c;
    std::byte* scratch;
  };

 public:
  explicit Recurrent(OpKernelInfo& info)
      : direction_(info.attributes().String("direction", "forward")),
        directions_(direction_ == "bidirectional" ? 2 : 1),
        batch_first_(info.attributes().Int("layout", 0) != 0),
        reset_last_(kCell == Cell::kGru && info.attributes().Int("linear_before_reset", 0) != 0),
        input_forget_(kCell == Cell::kLstm && info.attributes().Int("input_forget", 0) != 0),
        clip_(info.attributes().Float("clip", 0)),
        hidden_size_(info.attributes().Int("hidden_size", 0)),
        level_(IsaOf(info)),
        ops_(GemmOpsOf<C>(level_)) {
    static constexpr std::string_view kDefaults[] = {kCell == Cell::kRnn ? "Tanh" : "Sigmoid",
                                                     "Tanh", "Tanh"};
    gates_ = ReadGates(info, std::span(kDefaults).first(kFunctions),
                       static_cast<std::size_t>(directions_), static_cast<ElemType>(DataTypeOf<C>),
                       level_);
    if constexpr (kConverts) {
      const auto type = static_cast<ElemType>(DataTypeOf<T>);
      widen_ = math::GetCast(type, ElemType::kFloat, level_);
      narrow_ = math::GetCast(ElemType::kFloat, type, level_);
    }
    if (const Tensor* w = info.constant(1); w != nullptr && Packable(*w)) {
      packed_w_ = info.RequestPacked(1, FormOf(*w, {w->dim(1)}));
    }
    if (const Tensor* r = info.constant(2); r != nullptr && Packable(*r)) {
      const std::int64_t rows = r->dim(1);
      packed_r_ = info.RequestPacked(
          2, two_products() ? FormOf(*r, {rows / 3 * 2, rows / 3}) : FormOf(*r, {rows}));
    }
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    ReadSizes(context, &s);
    const std::int64_t width = kGates * s.hidden, rows = s.steps * s.batch;
    const auto form = [](int packed) {
      return packed >= 0 ? MatrixForm::kPacked : MatrixForm::kTransposed;
    };
    const auto row_major = MatrixForm::kRowMajor;
    s.input_plan = ops_.plan({rows, width, s.input, 1, row_major, form(packed_w_)});
    const std::int64_t step_width = two_products() ? 2 * s.hidden : width;
    s.step_plan = ops_.plan({s.batch, step_width, s.hidden, 1, row_major, form(packed_r_)});
    if (two_products())
      s.reset_plan = ops_.plan({s.batch, s.hidden, s.hidden, 1, row_major, form(packed_r_)});
    for (const GemmPlan* plan : {&s.input_plan, &s.step_plan, &s.reset_plan})
      s.product_bytes = std::max(s.product_bytes, ProductScratch(*plan, context.team_size()));
    ScratchLayout layout;
    layout.ReserveBytes(s.product_bytes * static_cast<std::size_t>(directions_));
    s.x_at = layout.Reserve<C>(kConverts ? rows * s.input : 0);
    s.w_at = layout.Reserve<C>(kConverts && packed_w_ < 0 ? directions_ * width * s.input : 0);
    s.r_at = layout.Reserve<C>(kConverts && packed_r_ < 0 ? directions_ * width * s.hidden : 0);
    s.p_at = layout.Reserve<C>(directions_ * 3 * s.hidden);
    s.bias_at = layout.Reserve<C>(directions_ * (width + s.hidden));
    s.gates_at = layout.Reserve<C>(directions_ * rows * width);
    s.part_at = layout.Reserve<C>(directions_ * s.batch * width);
    s.h_at = layout.Reserve<C>(directions_ * s.batch * s.hidden);
    s.c_at = layout.Reserve<C>(directions_ * s.batch * s.hidden);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    const Dims y_dims = batch_first_ ? Dims{s.batch, s.steps, directions_, s.hidden}
                                     : Dims{s.steps, directions_, s.batch, s.hidden};
    const Dims state_dims =
        batch_first_ ? Dims{s.batch, directions_, s.hidden} : Dims{directions_, s.batch, s.hidden};
    Tensor* y = context.has_output(0) ? &context.Output(0, y_dims) : nullptr;
    Tensor* y_h = context.has_output(1) ? &context.Output(1, state_dims) : nullptr;
    Tensor* y_c = context.has_output(2) ? &context.Output(2, state_dims) : nullptr;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    std::array<Run, 2> runs{};
    for (std::int64_t d = 0; d < directions_; ++d)
      runs[static_cast<std::size_t>(d)] = MakeRun(context, s, d, scratch);
    LoadState(context, s, 5, runs[0].h);
    if (kCell == Cell::kLstm) LoadState(context, s, 6, runs[0].c);
    InputProducts(context, s, runs);
    const auto steps = [&](std::int64_t d) {
      Steps(context, s, runs[static_cast<std::size_t>(d)], y);
    };
    const double work = static_cast<double>(s.steps * s.batch * kGates * s.hidden * s.hidden);
    if (directions_ == 2 && work > 4e5) {
      context.team().ParallelFor(2, [&](std::int64_t d, int) { steps(d); });
    } else {
      for (std::int64_t d = 0; d < directions_; ++d) steps(d);
    }
    if (y_h != nullptr) StoreState(s, runs[0].h, *y_h);
    if (y_c != nullptr) StoreState(s, runs[0].c, *y_c);
  }

  std::string Variant() const override {
    return packed_w_ >= 0 && packed_r_ >= 0 ? "packed weights" : "";
  }

 private:
  bool two_products() const { return kCell == Cell::kGru && !reset_last_; }
  bool Reversed(std::int64_t direction) const { return direction == 1 || direction_ == "reverse"; }

  bool Packable(const Tensor& weight) const {
    return weight.rank() == 3 && weight.dim(0) == directions_ && weight.size() != 0 &&
           weight.dim(1) % kGates == 0;
  }

  // Each direction's rows cut into sections that are packed as matrices of their own.
  PackedForm FormOf(const Tensor& weight, std::vector<std::int64_t> sections) const {
    const std::int64_t k = weight.dim(2), all_rows = weight.dim(1);
    PackedForm form;
    form.id = std::string("recurrent.") + (sizeof(C) == 8 ? "f64." : "f32.") +
              std::to_string(static_cast<int>(level_)) + "." + std::to_string(ops_.tile_cols) +
              "." + std::to_string(sections.size());
    std::size_t elements = 0;
    for (std::int64_t rows : sections) elements += ops_.packed_b_elements(k, rows);
    form.bytes = static_cast<std::size_t>(directions_) * elements * sizeof(C);
    form.parts = directions_;
    form.pack = [ops = &ops_, widen = widen_, sections = std::move(sections), elements, k,
                 all_rows](const Tensor& dense, std::int64_t begin, std::int64_t end,
                           std::byte* to) {
      std::vector<C> wide;
      const C* source = static_cast<const C*>(dense.raw());
      if constexpr (kConverts) {
        wide.resize(static_cast<std::size_t>(dense.size()));
        math::RunCast(widen, dense.raw(), wide.data(), 0, dense.size());
        source = wide.data();
      }
      for (std::int64_t d = begin; d < end; ++d) {
        const C* from = source + d * all_rows * k;
        C* at = reinterpret_cast<C*>(to) + static_cast<std::size_t>(d) * elements;
        for (std::int64_t rows : sections) {
          ops->pack_b(from, k, MatrixForm::kTransposed, k, rows, 0, ops->b_panels(rows), at);
          from += rows * k;
          at += ops->packed_b_elements(k, rows);
        }
      }
    };
    return form;
  }

  void ReadSizes(PrepareContext& context, State* s) const {
    const auto x = context.input_dims(0), w = context.input_dims(1), r = context.input_dims(2);
    if (x.size() != 3 || w.size() != 3 || r.size() != 3) {
      context.Fail("X " + DimsToString(x) + ", W " + DimsToString(w) + ", R " + DimsToString(r) +
                   ": expected three dims each");
    }
    s->steps = x[batch_first_ ? 1 : 0];
    s->batch = x[batch_first_ ? 0 : 1];
    s->input = x[2];
    s->hidden = r[2];
    const std::int64_t w_dims[] = {directions_, kGates * s->hidden, s->input};
    const std::int64_t r_dims[] = {directions_, kGates * s->hidden, s->hidden};
    if (s->hidden < 1 || s->input < 1 || !std::equal(w.begin(), w.end(), w_dims) ||
        !std::equal(r.begin(), r.end(), r_dims) ||
        (hidden_size_ != 0 && hidden_size_ != s->hidden)) {
      context.Fail("X " + DimsToString(x) + ", W " + DimsToString(w) + ", R " + DimsToString(r) +
                   ", hidden_size " + std::to_string(hidden_size_) + " do not fit together");
    }
    const auto expect = [&](std::size_t i, std::initializer_list<std::int64_t> dims) {
      if (!context.has_input(i)) return;
      const auto got = context.input_dims(i);
      if (!std::equal(got.begin(), got.end(), dims.begin(), dims.end())) {
        context.Fail("input " + std::to_string(i) + " is " + DimsToString(got) + ", expected " +
                     DimsToString(std::span(dims.begin(), dims.size())));
      }
    };
    expect(3, {directions_, 2 * kGates * s->hidden});
    expect(4, {s->batch});
    for (std::size_t i : {std::size_t{5}, std::size_t{6}}) {
      if (batch_first_) {
        expect(i, {s->batch, directions_, s->hidden});
      } else {
        expect(i, {directions_, s->batch, s->hidden});
      }
    }
    expect(7, {directions_, 3 * s->hidden});
  }

  const C* Widened(const Tensor& tensor, std::byte* at) const {
    if constexpr (kConverts) {
      math::RunCast(widen_, tensor.raw(), at, 0, tensor.size());
      return reinterpret_cast<const C*>(at);
    } else {
      return static_cast<const C*>(tensor.raw());
    }
  }

  Run MakeRun(OpKernelContext& context, const State& s, std::int64_t d, std::byte* scratch) const {
    const std::int64_t width = kGates * s.hidden;
    const auto at = [&](std::size_t offset, std::int64_t per_direction) {
      return reinterpret_cast<C*>(scratch + offset) + d * per_direction;
    };
    Run run{};
    run.direction = d;
    run.scratch = scratch + s.product_bytes * static_cast<std::size_t>(d);
    run.gates = at(s.gates_at, s.steps * s.batch * width);
    run.part = at(s.part_at, s.batch * width);
    run.h = at(s.h_at, s.batch * s.hidden);
    run.c = at(s.c_at, s.batch * s.hidden);
    const std::int64_t first = two_products() ? 2 * s.hidden : width;
    if (packed_r_ >= 0) {
      const auto first_elements =
          static_cast<std::int64_t>(ops_.packed_b_elements(s.hidden, first));
      const auto second =
          two_products() ? static_cast<std::int64_t>(ops_.packed_b_elements(s.hidden, s.hidden))
                         : 0;
      run.r = reinterpret_cast<const C*>(context.Packed(packed_r_)) + d * (first_elements + second);
      run.r_reset = run.r + first_elements;
    } else {
      const Tensor& r = context.Input(2);
      run.r = (d == 0      ? Widened(r, scratch + s.r_at)
               : kConverts ? reinterpret_cast<const C*>(scratch + s.r_at)
                           : static_cast<const C*>(r.raw())) +
              d * width * s.hidden;
      run.r_reset = run.r + first * s.hidden;
    }
    if (const Tensor* p = context.OptionalInput(7); p != nullptr && kCell == Cell::kLstm)
      run.peephole = Widened(*p, scratch + s.p_at) + d * 3 * s.hidden;
    if (const Tensor* b = context.OptionalInput(3); b != nullptr) {
      C* bias = at(s.bias_at, width + s.hidden);
      const T* values = b->data<T>() + d * 2 * width;
      const std::int64_t summed = reset_last_ ? 2 * s.hidden : width;
      for (std::int64_t i = 0; i < width; ++i)
        bias[i] = Widen(values[i]) + (i < summed ? Widen(values[width + i]) : C(0));
      run.bias = bias;
      if (reset_last_) {
        for (std::int64_t i = 0; i < s.hidden; ++i)
          bias[width + i] = Widen(values[width + 2 * s.hidden + i]);
        run.hidden_bias = bias + width;
      }
    }
    return run;
  }

  void InputProducts(OpKernelContext& context, const State& s,
                     const std::array<Run, 2>& runs) const {
    if (s.steps * s.batch == 0) return;
    auto* scratch = static_cast<std::byte*>(context.scratch());
    const std::int64_t width = kGates * s.hidden;
    math::GemmArgsT<C> args;
    args.a = Widened(context.Input(0), scratch + s.x_at);
    args.lda = s.input;
    args.ldb = s.input;
    args.ldc = width;
    const C* w = packed_w_ >= 0 ? reinterpret_cast<const C*>(context.Packed(packed_w_))
                                : Widened(context.Input(1), scratch + s.w_at);
    const std::int64_t w_size =
        packed_w_ >= 0 ? static_cast<std::int64_t>(ops_.packed_b_elements(s.input, width))
                       : width * s.input;
    for (std::int64_t d = 0; d < directions_; ++d) {
      const Run& run = runs[static_cast<std::size_t>(d)];
      math::EpilogueT<C> epilogue;
      epilogue.bias_col = run.bias;
      args.epilogue = run.bias != nullptr ? &epilogue : nullptr;
      args.b = w + d * w_size;
      args.c = run.gates;
      RunProduct(context.team(), ops_, s.input_plan, args, run.scratch);
    }
  }

  std::int64_t StateOffset(const State& s, std::int64_t d, std::int64_t b) const {
    return (batch_first_ ? b * directions_ + d : d * s.batch + b) * s.hidden;
  }

  // `to` is [directions, batch, hidden].
  void LoadState(OpKernelContext& context, const State& s, std::size_t input, C* to) const {
    const Tensor* from = context.OptionalInput(input);
    if (from == nullptr) {
      std::fill_n(to, directions_ * s.batch * s.hidden, C(0));
      return;
    }
    for (std::int64_t d = 0; d < directions_; ++d) {
      for (std::int64_t b = 0; b < s.batch; ++b) {
        const T* row = from->data<T>() + StateOffset(s, d, b);
        C* out = to + (d * s.batch + b) * s.hidden;
        for (std::int64_t i = 0; i < s.hidden; ++i) out[i] = Widen(row[i]);
      }
    }
  }

  void StoreState(const State& s, const C* from, Tensor& to) const {
    for (std::int64_t d = 0; d < directions_; ++d) {
      for (std::int64_t b = 0; b < s.batch; ++b) {
        Store(from + (d * s.batch + b) * s.hidden, to.data_mutable<T>() + StateOffset(s, d, b),
              s.hidden);
      }
    }
  }

  void Store(const C* from, T* to, std::int64_t n) const {
    if constexpr (kConverts) {
      math::RunCast(narrow_, from, to, 0, n);
    } else {
      std::copy_n(from, n, to);
    }
  }

  void Steps(OpKernelContext& context, const State& s, const Run& run, Tensor* y) const {
    const std::int64_t width = kGates * s.hidden;
    // Rows of one step are `ld` apart.
    const std::int64_t ld = batch_first_ ? s.steps * width : width;
    const Tensor* lengths = context.OptionalInput(4);
    T* out = y != nullptr ? y->data_mutable<T>() : nullptr;
    const double row_ns = 0.5 * static_cast<double>(width);
    for (std::int64_t step = 0; step < s.steps; ++step) {
      const std::int64_t t = Reversed(run.direction) ? s.steps - 1 - step : step;
      C* gates = run.gates + (batch_first_ ? t * width : t * s.batch * width);
      const auto active = [&](std::int64_t b) {
        return lengths == nullptr || t < lengths->data<std::int32_t>()[b];
      };
      StepProducts(context, s, run, gates, ld);
      ParallelItems(context, s.batch, row_ns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
          C* h = run.h + b * s.hidden;
          if (active(b)) Row(s, run, gates + b * ld, b);
          if (out == nullptr) continue;
          T* to = out + (batch_first_ ? (b * s.steps + t) * directions_ + run.direction
                                      : (t * directions_ + run.direction) * s.batch + b) *
                            s.hidden;
          if (active(b)) {
            Store(h, to, s.hidden);
          } else {
            std::fill_n(to, s.hidden, T{});
          }
        }
      });
    }
  }

  // What the last step's state adds to this step's gates.
  void StepProducts(OpKernelContext& context, const State& s, const Run& run, C* gates,
                    std::int64_t ld) const {
    math::GemmArgsT<C> args;
    args.a = run.h;
    args.lda = s.hidden;
    args.b = run.r;
    args.ldb = s.hidden;
    args.c = reset_last_ ? run.part : gates;
    args.ldc = reset_last_ ? kGates * s.hidden : ld;
    args.beta = reset_last_ ? C(0) : C(1);
    RunProduct(context.team(), ops_, s.step_plan, args, run.scratch);
    if (!two_products()) return;
    const Gate& f = gates_[static_cast<std::size_t>(run.direction) * kFunctions];
    for (std::int64_t b = 0; b < s.batch; ++b) {
      C* row = gates + b * ld;
      Clip(row, 2 * s.hidden);
      f.Apply(row, 2 * s.hidden);
      for (std::int64_t i = 0; i < s.hidden; ++i)
        run.part[b * s.hidden + i] = row[s.hidden + i] * run.h[b * s.hidden + i];
    }
    args.a = run.part;
    args.b = run.r_reset;
    args.c = gates + 2 * s.hidden;
    RunProduct(context.team(), ops_, s.reset_plan, args, run.scratch);
  }

  void Clip(C* x, std::int64_t n) const {
    if (clip_ <= 0) return;
    const C limit = static_cast<C>(clip_);
    for (std::int64_t i = 0; i < n; ++i) x[i] = std::min(std::max(x[i], -limit), limit);
  }

  // Gates to the new state of one row of the batch.
  void Row(const State& s, const Run& run, C* gates, std::int64_t b) const {
    const Gate* f = &gates_[static_cast<std::size_t>(run.direction) * kFunctions];
    C* h = run.h + b * s.hidden;
    if constexpr (kCell == Cell::kRnn) {
      Clip(gates, s.hidden);
      f[0].Apply(gates, s.hidden);
      std::copy_n(gates, s.hidden, h);
    } else if constexpr (kCell == Cell::kGru) {
      GruRow(s, run, f, gates, run.part + b * kGates * s.hidden, h);
    } else {
      LstmRow(s, run, f, gates, run.part + b * kGates * s.hidden, h, run.c + b * s.hidden);
    }
  }

  void GruRow(const State& s, const Run& run, const Gate* f, C* gates, const C* part, C* h) const {
    const std::int64_t n = s.hidden;
    C* candidate = gates + 2 * n;
    if (reset_last_) {
      for (std::int64_t i = 0; i < 2 * n; ++i) gates[i] += part[i];
      Clip(gates, 2 * n);
      f[0].Apply(gates, 2 * n);
      const C* bias = run.hidden_bias;
      for (std::int64_t i = 0; i < n; ++i)
        candidate[i] += gates[n + i] * (part[2 * n + i] + (bias != nullptr ? bias[i] : C(0)));
    }
    Clip(candidate, n);
    f[1].Apply(candidate, n);
    for (std::int64_t i = 0; i < n; ++i) h[i] = (C(1) - gates[i]) * candidate[i] + gates[i] * h[i];
  }

  // Gates come as input, output, forget, cell.
  void LstmRow(const State& s, const Run& run, const Gate* f, C* gates, C* squashed, C* h,
               C* c) const {
    const std::int64_t n = s.hidden;
    C* in = gates;
    C* out = gates + n;
    C* forget = gates + 2 * n;
    C* cell = gates + 3 * n;
    const C* p = run.peephole;
    if (p != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) in[i] += p[i] * c[i];
      for (std::int64_t i = 0; i < n; ++i) forget[i] += p[2 * n + i] * c[i];
      Clip(in, n);
      Clip(forget, 2 * n);
      f[0].Apply(in, n);
      f[0].Apply(forget, n);
    } else {
      Clip(gates, 4 * n);
      f[0].Apply(gates, 3 * n);
    }
    if (input_forget_) {
      for (std::int64_t i = 0; i < n; ++i) forget[i] = C(1) - in[i];
    }
    f[1].Apply(cell, n);
    for (std::int64_t i = 0; i < n; ++i) c[i] = forget[i] * c[i] + in[i] * cell[i];
    if (p != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) out[i] += p[n + i] * c[i];
      Clip(out, n);
      f[0].Apply(out, n);
    }
    std::copy_n(c, n, squashed);  // the cell itself is not clipped, as in other runtimes
    f[2].Apply(squashed, n);
    for (std::int64_t i = 0; i < n; ++i) h[i] = out[i] * squashed[i];
  }

  std::string direction_;
  std::int64_t directions_;
  bool batch_first_, reset_last_, input_forget_;
  float clip_;
  std::int64_t hidden_size_;
  math::IsaLevel level_;
  const math::GemmOpsT<C>& ops_;
  std::vector<Gate> gates_;  // kFunctions per direction
  math::CastKernel widen_, narrow_;
  int packed_w_ = -1, packed_r_ = -1;
};

template <Cell kCell>
std::unique_ptr<OpKernel> MakeKernel(OpKernelInfo& info) {
  std::unique_ptr<OpKernel> kernel;
  DispatchType(info.input_type(0).elem, FloatTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = std::make_unique<Recurrent<T, kCell>>(info);
  });
  return kernel;
}

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(
      KernelCreateInfo::For("RNN").Input(0, types::kFloats).Create(MakeKernel<Cell::kRnn>));
  registry.Register(
      KernelCreateInfo::For("GRU").Input(0, types::kFloats).Create(MakeKernel<Cell::kGru>));
  registry.Register(
      KernelCreateInfo::For("LSTM").Input(0, types::kFloats).Create(MakeKernel<Cell::kLstm>));
}

}  // namespace switchyard::cpu::kernels::recurrent
