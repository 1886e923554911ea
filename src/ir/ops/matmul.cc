// Matrix products.

#include <array>

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::matmul {
namespace {

void InferMatMul(InferenceContext& ctx) {
  ctx.SetTensor(0, ctx.input_elem(0), MatMulShape(ctx, ctx.input_shape(0), ctx.input_shape(1)));
}

void InferMatMulInteger(InferenceContext& ctx) {
  ctx.SetTensor(0, DataType::kInt32, MatMulShape(ctx, ctx.input_shape(0), ctx.input_shape(1)));
}

void InferQLinearMatMul(InferenceContext& ctx) {
  ctx.SetTensor(0, ctx.input_elem(7), MatMulShape(ctx, ctx.input_shape(0), ctx.input_shape(3)));
}

void InferGemm(InferenceContext& ctx) { ctx.SetTensor(0, ctx.input_elem(0), GemmShape(ctx, 0, 1)); }

void InferDet(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "X", 2);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!x.ranked()) return;
  Same(ctx, x[x.rank() - 1], x[x.rank() - 2], "rows and columns");
  Shape out = Shape::Scalar();
  for (std::size_t i = 0; i + 2 < x.rank(); ++i) out.push_back(x[i]);
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

// Sizes of an equation's letters, and of the dims that its ellipsis stands for.
class Equation {
 public:
  explicit Equation(InferenceContext& ctx) : ctx_(ctx) {}

  // Reads one operand's term; `shape` unranked: letters only.
  void AddTerm(std::string_view term, const Shape& shape, std::size_t input) {
    std::size_t letters = 0;
    bool ellipsis = false;
    for (const char c : term) {
      if (c == '.') {
        ellipsis = true;
      } else if (c != ' ') {
        Count(c);
        ++letters;
      }
    }
    if (!shape.ranked()) {
      all_ranked_ = all_ranked_ && !ellipsis;
      return;
    }
    if (letters > shape.rank() || (!ellipsis && letters != shape.rank())) {
      ctx_.Fail("input " + std::to_string(input) + " of shape " + shape.ToString() +
                " does not fit the term '" + std::string(term) + "'");
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term[i] != '.') {
        Merge(term[i], shape[at++]);
        continue;
      }
      i += 2;
      Shape rest = Shape::Scalar();
      for (std::size_t n = shape.rank() - letters; n > 0; --n) rest.push_back(shape[at++]);
      std::optional<Shape> both = BroadcastShapes(rest_, rest);
      if (!both.has_value()) ctx_.Fail("the dims of '...' do not broadcast");
      rest_ = *std::move(both);
    }
  }

  Shape Result(std::string_view term) const {
    Shape out = Shape::Scalar();
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term[i] == '.') {
        if (!all_ranked_) return {};
        for (const Dim& d : rest_) out.push_back(d);
        i += 2;
      } else {
        out.push_back(sizes_[Index(term[i])]);
      }
    }
    return out;
  }

  // Without "->": the ellipsis, then the letters that occur once, in order.
  Shape ImplicitResult() const {
    if (!all_ranked_) return {};
    Shape out = rest_;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (counts_[i] == 1) out.push_back(sizes_[i]);
    }
    return out;
  }

 private:
  std::size_t Index(char c) const {
    if (c >= 'A' && c <= 'Z') return static_cast<std::size_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<std::size_t>(c - 'a') + 26;
    ctx_.Fail(std::string("the equation has a character '") + c + "'");
  }
  void Count(char c) { ++counts_[Index(c)]; }
  void Merge(char c, const Dim& size) {
    Dim& known = sizes_[Index(c)];
    bool mismatch = false;
    if (known.is_unknown()) {
      known = size;
      return;
    }
    const Dim both = BroadcastDims(known, size, &mismatch);
    if (mismatch) {
      ctx_.Fail(std::string("index '") + c + "' has the sizes " + known.ToString() + " and " +
                size.ToString());
    }
    if (!both.is_unknown()) known = both;
  }

  InferenceContext& ctx_;
  std::array<Dim, 52> sizes_{};
  std::array<int, 52> counts_{};
  Shape rest_ = Shape::Scalar();
  bool all_ranked_ = true;
};

void InferEinsum(InferenceContext& ctx) {
  const std::string_view text = Text(ctx, "equation", "");
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  Equation equation(ctx);
  for (std::size_t i = 0; i < ctx.num_inputs(); ++i) {
    const std::size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == ctx.num_inputs())) {
      ctx.Fail("equation '" + std::string(text) + "' does not have " +
               std::to_string(ctx.num_inputs()) + " terms");
    }
    equation.AddTerm(left.substr(0, comma), ctx.input_shape(i), i);
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  const bool explicit_result = arrow != std::string_view::npos;
  ctx.SetTensor(
      0, ctx.input_elem(0),
      explicit_result ? equation.Result(text.substr(arrow + 2)) : equation.ImplicitResult());
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("MatMul", InferMatMul);
  registry.Register("MatMulInteger", InferMatMulInteger);
  registry.Register("QLinearMatMul", InferQLinearMatMul);
  registry.Register("Gemm", InferGemm);
  registry.Register("Det", InferDet);
  registry.Register("Einsum", InferEinsum);
}

}  // namespace switchyard::ir::ops::matmul
