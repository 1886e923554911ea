// Softmax, LogSoftmax and Hardmax. Before opset 13 the axis splits the input into a matrix whose
// rows are normalised; afterwards it is the one axis.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/math/vec_softmax.h"

namespace switchyard::cpu::kernels::softmax {
namespace {

using math::SoftmaxKind;

class Softmax final : public OpKernel {
 public:
  Softmax(OpKernelInfo& info, SoftmaxKind kind)
      : kind_(kind),
        as_matrix_(info.node().SinceVersion() < 13),
        axis_(info.attributes().Int("axis", as_matrix_ ? 1 : -1)),
        level_(IsaOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    if (y.size() == 0) return;
    std::int64_t size = 1, inner = 1;
    if (as_matrix_ && axis_ == static_cast<std::int64_t>(x.rank())) {
      size = 1;
    } else if (x.rank() != 0) {
      const auto tail =
          x.dims().subspan(static_cast<std::size_t>(NormalizeAxis(context, axis_, x.rank())));
      size = as_matrix_ ? Product(tail) : tail[0];
      inner = as_matrix_ ? 1 : Product(tail.subspan(1));
    }
    const std::int64_t columns = x.size() / size;
    ParallelItems(context, columns, 1.2 * static_cast<double>(size),
                  [&](std::int64_t begin, std::int64_t end) {
                    math::RunSoftmax(kind_, static_cast<math::ElemType>(x.type()), level_, x.raw(),
                                     y.raw_mutable(), size, inner, begin, end);
                  });
  }

 private:
  SoftmaxKind kind_;
  bool as_matrix_;
  std::int64_t axis_;
  math::IsaLevel level_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  struct Row {
    const char* op_type;
    SoftmaxKind kind;
  };
  static constexpr Row kRows[] = {{"Softmax", SoftmaxKind::kSoftmax},
                                  {"LogSoftmax", SoftmaxKind::kLogSoftmax},
                                  {"Hardmax", SoftmaxKind::kHardmax}};
  for (const Row& row : kRows) {
    const KernelCreateFn create = [&row](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
      return std::make_unique<Softmax>(info, row.kind);
    };
    KernelCreateInfo wide = KernelCreateInfo::For(row.op_type);
    wide.Input(0, DataType::kFloat | DataType::kDouble).Create(create);
    if (row.kind != SoftmaxKind::kHardmax) wide.MayAlias(0, 0);
    registry.Register(wide);
    registry.Register(KernelCreateInfo::For(row.op_type)
                          .Input(0, DataType::kFloat16 | DataType::kBFloat16)
                          .Create(create));
  }
}

}  // namespace switchyard::cpu::kernels::softmax
