// Softmax and LogSoftmax: one work-item per row.

#include "providers/opencl/kernel.h"

namespace switchyard::opencl::kernels::softmax {
namespace {

// A row is `count` elements `inner` apart. One work-item per row.
constexpr const char* kSoftmax = R"CL(
__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void softmax(BUF(const T, x), BUF(T, y), int rows, int count, int inner) {
  AT(x); AT(y);
  int row = get_global_id(0);
  if (row >= rows) return;
  long first = (long)(row / inner) * count * inner + row % inner;
  x += first; y += first;
  C high = -INFINITY;
  for (int i = 0; i < count; ++i) high = fmax(high, (C)x[(long)i * inner]);
  C sum = 0;
  for (int i = 0; i < count; ++i) sum += exp((C)x[(long)i * inner] - high);
#ifdef LOGARITHM
  C shift = high + log(sum);
  for (int i = 0; i < count; ++i) y[(long)i * inner] = (T)((C)x[(long)i * inner] - shift);
#else
  C scale = (C)1 / sum;
  for (int i = 0; i < count; ++i)
    y[(long)i * inner] = (T)(exp((C)x[(long)i * inner] - high) * scale);
#endif
})CL";

class Softmax final : public ClKernel {
 public:
  explicit Softmax(OpKernelInfo& info)
      : ClKernel(info),
        flattens_(info.node().SinceVersion() < 13),
        axis_(info.attributes().Int("axis", flattens_ ? 1 : -1)) {
    const DataType type = info.input_type(0).elem;
    Defines defines{{"T", ClType(type)}, {"C", ComputeType(type)}};
    if (info.node().OpType() == "LogSoftmax") defines["LOGARITHM"] = "1";
    softmax_ = Build(kSoftmax, defines, "softmax", {16, 1, 1});
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, x.dims());
    if (x.size() == 0) return;
    CheckIndexable(context, x);
    const std::size_t axis = x.rank() == 0 ? 0 : NormalizeAxis(context, axis_, x.rank());
    const std::int64_t count = x.rank() == 0 ? 1
                               : flattens_   ? Product(x.dims().subspan(axis))
                                             : x.dim(axis);
    const std::int64_t inner = flattens_ || x.rank() == 0 ? 1 : Product(x.dims().subspan(axis + 1));
    const std::int64_t rows = x.size() / count;
    softmax_.On(context).In(x).Out(y).Int(rows).Int(count).Int(inner).Run({rows, 1, 1});
  }

 private:
  bool flattens_;
  std::int64_t axis_;
  EntryPoint softmax_;
};

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  for (const char* op : {"Softmax", "LogSoftmax"})
    families.Add(
        KernelCreateInfo::For(op).Input(0, families.floats()).MayAlias(0, 0).Make<Softmax>());
}

}  // namespace switchyard::opencl::kernels::softmax
