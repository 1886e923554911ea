// MatMul and Gemm over the product of gemm.h.

#include "providers/opencl/broadcast.h"
#include "providers/opencl/gemm.h"

namespace switchyard::opencl::kernels::matmul {
namespace {

class MatMul final : public ClKernel {
 public:
  explicit MatMul(OpKernelInfo& info)
      : ClKernel(info), gemm_(info.input_type(0).elem, Builder(), lanes(), {}) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    Tensor& y = context.Output(0);
    if (y.size() == 0) return;
    GemmShape shape;
    const std::size_t ra = a.rank(), rb = b.rank();
    shape.k = a.dim(ra - 1);
    shape.m = ra == 1 ? 1 : a.dim(ra - 2);
    shape.n = rb == 1 ? 1 : b.dim(rb - 1);
    const std::int64_t kb = rb == 1 ? b.dim(0) : b.dim(rb - 2);
    if (kb != shape.k) context.Fail(a.Describe() + " times " + b.Describe());
    shape.a_row = shape.k;
    shape.b_row = shape.n;
    DimSpan batch_a = ra > 2 ? a.dims().first(ra - 2) : DimSpan();
    DimSpan batch_b = rb > 2 ? b.dims().first(rb - 2) : DimSpan();
    // One matrix B for all of A: its rows are one long matrix.
    if (Product(batch_b) == 1) {
      shape.m *= Product(batch_a);
      batch_a = {};
    } else {
      const std::size_t rank = std::max(batch_a.size(), batch_b.size());
      Dims out(rank, 1);
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t da = i + batch_a.size() >= rank ? batch_a[i + batch_a.size() - rank] : 1;
        const std::int64_t db = i + batch_b.size() >= rank ? batch_b[i + batch_b.size() - rank] : 1;
        out[i] = da == 1 ? db : da;
      }
      const DimSpan inputs[] = {batch_a, batch_b};
      const Walk walk = WalkBroadcast(out, inputs);
      shape.batch_dims = walk.dims;
      for (std::int64_t s : walk.strides[0]) shape.batch_a.push_back(s * shape.m * shape.k);
      for (std::int64_t s : walk.strides[1]) shape.batch_b.push_back(s * shape.k * shape.n);
      shape.batches = Product(walk.dims);
    }
    gemm_.Run(context, a, b, nullptr, y, shape);
  }

 private:
  GemmLauncher gemm_;
};

class Gemm final : public ClKernel {
 public:
  explicit Gemm(OpKernelInfo& info)
      : ClKernel(info),
        alpha_(info.attributes().Float("alpha", 1)),
        beta_(info.attributes().Float("beta", 1)),
        trans_a_(info.attributes().Int("transA", 0) != 0),
        trans_b_(info.attributes().Int("transB", 0) != 0),
        gemm_(info.input_type(0).elem, Builder(), lanes(),
              {trans_a_, trans_b_, info.has_input(2)}) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    const Tensor* c = context.OptionalInput(2);
    Tensor& y = context.Output(0);
    if (y.size() == 0) return;
    GemmShape shape;
    shape.m = a.dim(trans_a_ ? 1 : 0);
    shape.k = a.dim(trans_a_ ? 0 : 1);
    shape.n = b.dim(trans_b_ ? 0 : 1);
    if (b.dim(trans_b_ ? 1 : 0) != shape.k) context.Fail(a.Describe() + " times " + b.Describe());
    shape.a_row = a.dim(1);
    shape.b_row = b.dim(1);
    shape.alpha = alpha_;
    shape.beta = beta_;
    if (c != nullptr) {
      const std::size_t rank = c->rank();
      const std::int64_t columns = rank >= 1 ? c->dim(rank - 1) : 1;
      const std::int64_t rows = rank >= 2 ? c->dim(rank - 2) : 1;
      shape.c_column = columns == 1 ? 0 : 1;
      shape.c_row = rows == 1 ? 0 : columns;
    }
    gemm_.Run(context, a, b, c, y, shape);
  }

 private:
  float alpha_, beta_;
  bool trans_a_, trans_b_;
  GemmLauncher gemm_;
};

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  families.Add(KernelCreateInfo::For("MatMul")
                   .Input(0, families.floats())
                   .Accepts([](const Node& node) { return WhyNotRank(node); })
                   .Make<MatMul>());
  families.Add(KernelCreateInfo::For("Gemm").Since(7).Input(0, families.floats()).Make<Gemm>());
}

}  // namespace switchyard::opencl::kernels::matmul
