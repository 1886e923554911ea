// Einstein summation. Two float or double operands without repeated letters become a batched matrix
// product; everything else walks the index space.

#include "providers/cpu/kernels/common/copy_nd.h"
#include "providers/cpu/math/gemm.h"

namespace switchyard::cpu::kernels::einsum {
namespace {

constexpr int kMaxLabels = 64;
constexpr std::size_t kMaxOperands = 8;

std::size_t RoundUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Labels are small integers: letters first, then the dims that an ellipsis stands for.
using Labels = InlineVector<int, 16>;

struct Equation {
  InlineVector<std::int64_t, kMaxLabels> sizes;  // of every label
  Labels operand[kMaxOperands];
  Labels output;
};

int LetterIndex(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

template <typename Context>
class Parser {
 public:
  Parser(const Context& context, const std::string& text,
         std::span<const std::span<const std::int64_t>> dims, Equation* out)
      : context_(context), text_(text), dims_(dims), out_(out) {}

  void Run() {
    std::fill(std::begin(of_letter_), std::end(of_letter_), -1);
    std::fill(std::begin(uses_), std::end(uses_), 0);
    const auto arrow = text_.find("->");
    const std::string left = text_.substr(0, arrow);
    std::size_t begin = 0;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      const auto end = left.find(',', begin);
      if ((end == std::string::npos) != (k + 1 == dims_.size())) Bad("the number of operands");
      FindEllipsis(left.substr(begin, end == std::string::npos ? end : end - begin),
                   dims_[k].size());
      begin = end + 1;
    }
    begin = 0;
    if (ellipsis_ > kMaxLabels - 52) Bad("the rank of a term");
    for (int i = 0; i < ellipsis_; ++i) out_->sizes.push_back(1);
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      const auto end = left.find(',', begin);
      Operand(left.substr(begin, end == std::string::npos ? end : end - begin), k);
      begin = end + 1;
    }
    if (arrow == std::string::npos) {
      for (int i = 0; i < ellipsis_; ++i) out_->output.push_back(i);
      for (int letter = 0; letter < 52; ++letter) {
        if (uses_[letter] == 1) out_->output.push_back(of_letter_[letter]);
      }
      return;
    }
    Output(text_.substr(arrow + 2));
  }

 private:
  [[noreturn]] void Bad(const std::string& what) {
    context_.Fail("equation '" + text_ + "': " + what + " does not fit the inputs");
  }

  void FindEllipsis(const std::string& term, std::size_t rank) {
    std::size_t letters = 0;
    for (char c : term) letters += LetterIndex(c) >= 0 ? 1 : 0;
    const bool dots = term.find("...") != std::string::npos;
    if (dots ? letters > rank : letters != rank) Bad("the rank of a term");
    if (dots) ellipsis_ = std::max(ellipsis_, static_cast<int>(rank - letters));
  }

  void Merge(int label, std::int64_t size) {
    std::int64_t& known = out_->sizes[static_cast<std::size_t>(label)];
    if (known != size && known != 1 && size != 1) Bad("a size");
    if (known == 1) known = size;
  }

  void Operand(const std::string& term, std::size_t k) {
    std::size_t letters = 0, dim = 0;
    for (char c : term) letters += LetterIndex(c) >= 0 ? 1 : 0;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term.compare(i, 3, "...") == 0) {
        const int own = static_cast<int>(dims_[k].size() - letters);
        if (dim + static_cast<std::size_t>(own) > dims_[k].size()) Bad("an ellipsis");
        for (int e = ellipsis_ - own; e < ellipsis_; ++e) {
          out_->operand[k].push_back(e);
          Merge(e, dims_[k][dim++]);
        }
        i += 2;
        continue;
      }
      const int letter = LetterIndex(term[i]);
      if (letter < 0 || dim == dims_[k].size()) Bad("a character");
      if (of_letter_[letter] < 0) {
        of_letter_[letter] = static_cast<int>(out_->sizes.size());
        out_->sizes.push_back(1);
      }
      ++uses_[letter];
      out_->operand[k].push_back(of_letter_[letter]);
      Merge(of_letter_[letter], dims_[k][dim++]);
    }
  }

  void Output(const std::string& term) {
    bool dots = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term.compare(i, 3, "...") == 0) {
        if (dots) Bad("an ellipsis");
        for (int e = 0; e < ellipsis_; ++e) out_->output.push_back(e);
        dots = true;
        i += 2;
        continue;
      }
      const int letter = LetterIndex(term[i]);
      if (letter < 0 || of_letter_[letter] < 0) Bad("the output term");
      for (int label : out_->output) {
        if (label == of_letter_[letter]) Bad("a letter given twice in the output");
      }
      out_->output.push_back(of_letter_[letter]);
    }
    if (!dots && ellipsis_ > 0) Bad("an output without the ellipsis");
  }

  const Context& context_;
  const std::string& text_;
  std::span<const std::span<const std::int64_t>> dims_;
  Equation* out_;
  int ellipsis_ = 0;
  int of_letter_[52];
  int uses_[52];
};

bool Has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Strides of one operand by label; broadcast dims stand still, repeated labels walk the diagonal.
void LabelStrides(const Equation& e, const Labels& labels, std::span<const std::int64_t> dims,
                  std::int64_t* strides) {
  std::fill_n(strides, e.sizes.size(), 0);
  const Dims dense = DenseStrides(dims);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (dims[i] != 1) strides[labels[i]] += dense[i];
  }
}

// A product of two operands as batch, rows, columns and summed labels.
struct ProductPlan {
  Labels batch, rows, columns, summed;
};

bool PlanProduct(const Equation& e, std::span<const std::int64_t> a,
                 std::span<const std::int64_t> b, ProductPlan* plan) {
  const Labels& la = e.operand[0];
  const Labels& lb = e.operand[1];
  const auto plain = [&](const Labels& labels, std::span<const std::int64_t> dims) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (dims[i] != e.sizes[static_cast<std::size_t>(labels[i])]) return false;
      if (std::count(labels.begin(), labels.end(), labels[i]) != 1) return false;
    }
    return true;
  };
  if (!plain(la, a) || !plain(lb, b)) return false;
  for (int label = 0; label < static_cast<int>(e.sizes.size()); ++label) {
    const bool in_a = Has(la, label), in_b = Has(lb, label), out = Has(e.output, label);
    if (!out && !(in_a && in_b)) return false;
    if (in_a && in_b) (out ? plan->batch : plan->summed).push_back(label);
    if (in_a && !in_b) plan->rows.push_back(label);
    if (in_b && !in_a) plan->columns.push_back(label);
  }
  return true;
}

class Einsum final : public OpKernel {
 public:
  explicit Einsum(OpKernelInfo& info)
      : text_(info.attributes().String("equation", "")),
        operands_(info.num_inputs()),
        f32_(math::GemmFor(IsaOf(info))),
        f64_(math::GemmF64For(IsaOf(info))),
        level_(IsaOf(info)) {
    if (operands_ > kMaxOperands)
      info.Fail("more than " + std::to_string(kMaxOperands) + " operands",
                ErrorCode::kNotImplemented);
  }

  void Prepare(PrepareContext& context) const override {
    std::span<const std::int64_t> dims[kMaxOperands];
    for (std::size_t i = 0; i < operands_; ++i) dims[i] = context.input_dims(i);
    Equation e;
    Parse(context, dims, &e);
    ProductPlan plan;
    const DataType type = context.input_elem(0);
    if (operands_ != 2 || (type != DataType::kFloat && type != DataType::kDouble) ||
        !PlanProduct(e, dims[0], dims[1], &plan))
      return;
    const std::size_t size = type == DataType::kFloat ? sizeof(float) : sizeof(double);
    const math::GemmPlan gemm = PlanGemm(e, plan, type);
    std::size_t bytes = RoundUp(gemm.scratch_bytes) * static_cast<std::size_t>(context.team_size());
    std::int64_t out = 1;
    for (int label : e.output) out *= e.sizes[static_cast<std::size_t>(label)];
    for (std::int64_t n : {Product(dims[0]), Product(dims[1]), out})
      bytes += RoundUp(static_cast<std::size_t>(n) * size);
    context.SetScratch(bytes);
  }

  void Compute(OpKernelContext& context) const override {
    std::span<const std::int64_t> dims[kMaxOperands];
    for (std::size_t i = 0; i < operands_; ++i) dims[i] = context.Input(i).dims();
    Equation e;
    Parse(context, dims, &e);
    Dims out;
    for (int label : e.output) out.push_back(e.sizes[static_cast<std::size_t>(label)]);
    ElementCount(out);
    Tensor& y = context.Output(0, out);
    if (y.size() == 0) return;
    ProductPlan plan;
    if (operands_ == 2 && context.scratch() != nullptr && PlanProduct(e, dims[0], dims[1], &plan)) {
      if (y.type() == DataType::kFloat) return Multiply<float>(context, e, plan, f32_, y);
      if (y.type() == DataType::kDouble) return Multiply<double>(context, e, plan, f64_, y);
    }
    DispatchType(y.type(), NumericTypes{},
                 [&](auto tag) { Walk<typename decltype(tag)::type>(context, e, dims, y); });
  }

 private:
  template <typename Context>
  void Parse(const Context& context, const std::span<const std::int64_t>* dims, Equation* e) const {
    Parser<Context>(context, text_, {dims, operands_}, e).Run();
  }

  static std::int64_t Size(const Equation& e, const Labels& labels) {
    std::int64_t n = 1;
    for (int label : labels) n *= e.sizes[static_cast<std::size_t>(label)];
    return n;
  }

  math::GemmPlan PlanGemm(const Equation& e, const ProductPlan& plan, DataType type) const {
    const math::GemmShape shape{Size(e, plan.rows), Size(e, plan.columns), Size(e, plan.summed),
                                Size(e, plan.batch)};
    return type == DataType::kFloat ? f32_.plan(shape) : f64_.plan(shape);
  }

  // `from` with the dims of `labels`, copied to `to` so that the `groups` follow each other.
  template <typename T>
  T* Arrange(OpKernelContext& context, const Equation& e, const Labels& labels,
             std::span<const std::int64_t> dims, std::initializer_list<const Labels*> groups,
             const T* from, T* to) const {
    std::int64_t strides[kMaxLabels];
    LabelStrides(e, labels, dims, strides);
    Dims sizes, source;
    for (const Labels* group : groups) {
      for (int label : *group) {
        sizes.push_back(e.sizes[static_cast<std::size_t>(label)]);
        source.push_back(strides[label]);
      }
    }
    CopyNd(context, level_, ElementCopy(DataTypeOf<T>), sizes, source, from, DenseStrides(sizes),
           to);
    return to;
  }

  template <typename T>
  void Multiply(OpKernelContext& context, const Equation& e, const ProductPlan& plan,
                const math::GemmOpsT<T>& ops, Tensor& y) const {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    const math::GemmPlan gemm = PlanGemm(e, plan, y.type());
    const std::size_t slice = RoundUp(gemm.scratch_bytes);
    auto* scratch = static_cast<std::byte*>(context.scratch());
    std::byte* at = scratch + slice * static_cast<std::size_t>(context.team().size());
    const auto take = [&](std::int64_t n) {
      T* block = reinterpret_cast<T*>(at);
      at += RoundUp(static_cast<std::size_t>(n) * sizeof(T));
      return block;
    };
    const auto& s = gemm.shape;
    math::GemmArgsT<T> args;
    args.a = Arrange(context, e, e.operand[0], a.dims(), {&plan.batch, &plan.rows, &plan.summed},
                     a.data<T>(), take(a.size()));
    args.b = Arrange(context, e, e.operand[1], b.dims(), {&plan.batch, &plan.summed, &plan.columns},
                     b.data<T>(), take(b.size()));
    T* product = take(y.size());
    args.c = product;
    args.lda = s.k;
    args.ldb = args.ldc = s.n;
    args.a_batch_stride = s.m * s.k;
    args.b_batch_stride = s.k * s.n;
    args.c_batch_stride = s.m * s.n;
    if (s.k == 0) {
      std::fill_n(product, y.size(), T(0));
    } else {
      context.team().ParallelFor(gemm.chunks, [&](std::int64_t chunk, int worker) {
        ops.run_chunk(gemm, args, chunk, scratch + slice * static_cast<std::size_t>(worker));
      });
    }
    Labels order = plan.batch;
    for (int label : plan.rows) order.push_back(label);
    for (int label : plan.columns) order.push_back(label);
    Dims dims;
    for (int label : order) dims.push_back(e.sizes[static_cast<std::size_t>(label)]);
    Arrange(context, e, order, dims, {&e.output}, static_cast<const T*>(product),
            y.data_mutable<T>());
  }

  template <typename T>
  void Walk(OpKernelContext& context, const Equation& e, const std::span<const std::int64_t>* dims,
            Tensor& y) const {
    // Integers wrap around; halves are summed in float.
    using C = std::conditional_t<std::is_integral_v<T>, std::uint64_t, ComputeOf<T>>;
    std::int64_t strides[kMaxOperands][kMaxLabels];
    const T* data[kMaxOperands];
    for (std::size_t k = 0; k < operands_; ++k) {
      LabelStrides(e, e.operand[k], dims[k], strides[k]);
      data[k] = context.Input(k).data<T>();
    }
    Labels summed;
    for (int label = 0; label < static_cast<int>(e.sizes.size()); ++label) {
      if (!Has(e.output, label)) summed.push_back(label);
    }
    const std::int64_t terms = Size(e, summed);
    T* out = y.data_mutable<T>();
    ParallelItems(context, y.size(), 5.0 * static_cast<double>(terms),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      std::int64_t base[kMaxOperands] = {};
                      Locate(e, e.output, strides, i, base);
                      C sum = 0;
                      for (std::int64_t t = 0; t < terms; ++t) {
                        std::int64_t at[kMaxOperands];
                        std::copy_n(base, operands_, at);
                        Locate(e, summed, strides, t, at);
                        C product = 1;
                        for (std::size_t k = 0; k < operands_; ++k)
                          product = static_cast<C>(product * static_cast<C>(Widen(data[k][at[k]])));
                        sum = static_cast<C>(sum + product);
                      }
                      out[i] = static_cast<T>(static_cast<ComputeOf<T>>(sum));
                    }
                  });
  }

  void Locate(const Equation& e, const Labels& labels, const std::int64_t (*strides)[kMaxLabels],
              std::int64_t index, std::int64_t* at) const {
    for (std::size_t i = labels.size(); i-- > 0;) {
      const std::int64_t size = e.sizes[static_cast<std::size_t>(labels[i])];
      const std::int64_t position = index % size;
      index /= size;
      for (std::size_t k = 0; k < operands_; ++k) at[k] += position * strides[k][labels[i]];
    }
  }

  std::string text_;
  std::size_t operands_;
  const math::GemmOps& f32_;
  const math::GemmOpsF64& f64_;
  math::IsaLevel level_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("Einsum").Input(0, types::kNumeric).Make<Einsum>());
}

}  // namespace switchyard::cpu::kernels::einsum
