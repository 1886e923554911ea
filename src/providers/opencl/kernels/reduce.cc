// The Reduce operators: one work-item per result; the reduced dims are walked in order.

#include "providers/opencl/kernel.h"

namespace switchyard::opencl::kernels::reduce {
namespace {

// Kept dims decide where a result starts, reduced dims how it is walked; each joined.
constexpr const char* kCode = R"CL(
__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void reduce(BUF(const T, x), BUF(T, y), int results, int kept_rank, int8 kept, int8 kept_strides,
            int rank, int8 dims, int8 strides, int count) {
  AT(x); AT(y);
  int i = get_global_id(0);
  if (i >= results) return;
  int d[8], s[8];
  vstore8(kept, 0, d); vstore8(kept_strides, 0, s);
  uint rest = i;
  int first = 0;
  for (int k = kept_rank - 1; k >= 0; --k) {
    uint next = rest / (uint)d[k];
    first += (int)(rest - next * d[k]) * s[k];
    rest = next;
  }
  vstore8(dims, 0, d); vstore8(strides, 0, s);
  int inner = rank > 0 ? d[rank - 1] : 1;
  int step = rank > 0 ? s[rank - 1] : 0;
  int rows = count / max(inner, 1);
  x += first;
#ifdef NEEDS_HIGH
  C high = LOWEST;
  for (int row = 0; row < rows; ++row) {
    uint left = row;
    int at = 0;
    for (int k = rank - 2; k >= 0; --k) {
      uint next = left / (uint)d[k];
      at += (int)(left - next * d[k]) * s[k];
      left = next;
    }
    for (int j = 0; j < inner; ++j) { C v = (C)x[at + j * step]; high = (v > high || v != v) ? v : high; }
  }
  if (high == LOWEST || high == -LOWEST) high = 0;
#endif
  C acc = (C)(START);
  for (int row = 0; row < rows; ++row) {
    uint left = row;
    int at = 0;
    for (int k = rank - 2; k >= 0; --k) {
      uint next = left / (uint)d[k];
      at += (int)(left - next * d[k]) * s[k];
      left = next;
    }
    for (int j = 0; j < inner; ++j) {
      C v = (C)x[at + j * step];
      acc = STEP;
    }
  }
  y[i] = (T)(FINISH);
})CL";

struct Reduction {
  const char* op;
  const char* start;
  const char* step;
  const char* finish;
  bool only_floats = false;
  int axes_input_since = 18;
  bool needs_high = false;
};

constexpr Reduction kOps[] = {
    {"ReduceSum", "0", "acc + v", "acc", false, 13},
    {"ReduceMean", "0", "acc + v", "acc / (C)count"},
    {"ReduceMax", "LOWEST", "(v > acc || v != v) ? v : acc", "acc"},
    {"ReduceMin", "HIGHEST", "(v < acc || v != v) ? v : acc", "acc"},
    {"ReduceProd", "1", "acc * v", "acc"},
    {"ReduceL1", "0", "acc + (v < 0 ? -v : v)", "acc"},
    {"ReduceSumSquare", "0", "acc + v * v", "acc"},
    {"ReduceL2", "0", "acc + v * v", "sqrt(acc)", true},
    {"ReduceLogSum", "0", "acc + v", "log(acc)", true},
    {"ReduceLogSumExp", "0", "acc + exp(v - high)", "log(acc) + high", true, 18, true},
};

void SetLimits(DataType type, Defines* defines) {
  switch (type) {
    case DataType::kInt32:
      (*defines)["LOWEST"] = "INT_MIN";
      (*defines)["HIGHEST"] = "INT_MAX";
      return;
    case DataType::kInt64:
      (*defines)["LOWEST"] = "LONG_MIN";
      (*defines)["HIGHEST"] = "LONG_MAX";
      return;
    case DataType::kUint8:
      (*defines)["LOWEST"] = "0";
      (*defines)["HIGHEST"] = "255";
      return;
    case DataType::kInt8:
      (*defines)["LOWEST"] = "-128";
      (*defines)["HIGHEST"] = "127";
      return;
    default:
      (*defines)["LOWEST"] = "(-INFINITY)";
      (*defines)["HIGHEST"] = "INFINITY";
  }
}

class Reduce final : public ClKernel {
 public:
  Reduce(OpKernelInfo& info, const Reduction& reduction)
      : ClKernel(info),
        from_attribute_(info.node().SinceVersion() < reduction.axes_input_since),
        keep_dims_(info.attributes().Int("keepdims", 1) != 0),
        noop_(info.attributes().Int("noop_with_empty_axes", 0) != 0) {
    const auto axes = info.attributes().Ints("axes");
    attribute_.assign(axes.begin(), axes.end());
    const DataType type = info.input_type(0).elem;
    Defines defines{{"T", ClType(type)},
                    {"C", ComputeType(type)},
                    {"START", reduction.start},
                    {"STEP", reduction.step},
                    {"FINISH", reduction.finish}};
    SetLimits(type, &defines);
    if (reduction.needs_high) defines["NEEDS_HIGH"] = "1";
    reduce_ = Build(kCode, defines, "reduce", {16, 1, 1});
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Dims axes = attribute_;
    if (!from_attribute_ && context.has_input(1)) axes = ReadIntegers(context, 1);
    const bool all = axes.empty() && !noop_;
    const std::size_t rank = x.rank();
    InlineVector<bool, 8> reduced(rank, all);
    for (std::int64_t axis : axes) reduced[NormalizeAxis(context, axis, rank)] = true;
    Dims out, kept, kept_strides, dims, strides;
    std::int64_t step = 1;
    Dims dense(rank, 1);
    for (std::size_t i = rank; i-- > 0;) {
      dense[i] = step;
      step *= x.dim(i);
    }
    for (std::size_t i = 0; i < rank; ++i) {
      if (!reduced[i]) {
        out.push_back(x.dim(i));
        Add(x.dim(i), dense[i], &kept, &kept_strides);
      } else {
        if (keep_dims_) out.push_back(1);
        Add(x.dim(i), dense[i], &dims, &strides);
      }
    }
    Tensor& y = context.Output(0, out);
    CheckIndexable(context, x);
    const std::int64_t count = Product(dims);
    reduce_.On(context)
        .In(x)
        .Out(y)
        .Int(y.size())
        .Int(static_cast<std::int64_t>(kept.size()))
        .Ints(kept)
        .Ints(kept_strides)
        .Int(static_cast<std::int64_t>(dims.size()))
        .Ints(dims)
        .Ints(strides)
        .Int(count)
        .Run({y.size(), 1, 1});
  }

 private:
  static void Add(std::int64_t dim, std::int64_t stride, Dims* dims, Dims* strides) {
    if (dim == 1) return;
    if (!dims->empty() && strides->back() == stride * dim) {
      dims->back() *= dim;
      strides->back() = stride;
      return;
    }
    dims->push_back(dim);
    strides->push_back(stride);
  }
  bool from_attribute_, keep_dims_, noop_;
  Dims attribute_;
  EntryPoint reduce_;
};

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  for (const Reduction& reduction : kOps) {
    TypeSet types = families.floats();
    if (!reduction.only_floats) types = types | DataType::kInt32 | TypeSet(DataType::kInt64);
    const std::string_view op = reduction.op;
    if (op == "ReduceMax" || op == "ReduceMin")
      types = types | DataType::kUint8 | TypeSet(DataType::kInt8);
    families.Add(KernelCreateInfo::For(op)
                     .Input(0, types)
                     .HostInput(1)
                     .Accepts([](const Node& node) { return WhyNotRank(node); })
                     .Create([reduction](OpKernelInfo& info) -> std::unique_ptr<OpKernel> {
                       return std::make_unique<Reduce>(info, reduction);
                     }));
  }
}

}  // namespace switchyard::opencl::kernels::reduce
