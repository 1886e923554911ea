// Transpose, Slice, Expand, Concat, Gather: elements change places only, by their size.

#include "providers/opencl/broadcast.h"
#include "providers/opencl/kernel.h"

namespace switchyard::opencl::kernels::movement {
namespace {

// y[i] = x[x_first + sum of index_k * x_stride_k], written at y_first + sum of index_k *
// y_stride_k.
constexpr const char* kStridedCopy = R"CL(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void strided_copy(BUF(const T, x), BUF(T, y), int n, int rank, int8 dims, int8 x_strides,
                  int8 y_strides, int x_first, int y_first) {
  AT(x); AT(y);
  int i = get_global_id(0);
  if (i >= n) return;
  int d[8], sx[8], sy[8];
  vstore8(dims, 0, d); vstore8(x_strides, 0, sx); vstore8(y_strides, 0, sy);
  uint rest = i;
  int from = x_first, to = y_first;
  for (int k = rank - 1; k >= 0; --k) {
    uint next = rest / (uint)d[k];
    int r = rest - next * d[k];
    rest = next;
    from += r * sx[k];
    to += r * sy[k];
  }
  y[to] = x[from];
})CL";

constexpr const char* kGather = R"CL(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void gather(BUF(const T, x), BUF(const I, at), BUF(T, y), int n, int axis_dim, int count,
            int inner) {
  AT(x); AT(at); AT(y);
  int i = get_global_id(0);
  if (i >= n) return;
  int k = i % inner;
  int rest = i / inner;
  int j = rest % count;
  int outer = rest / count;
  long index = at[j];
  if (index < 0) index += axis_dim;
  bool inside = index >= 0 && index < axis_dim;
  y[i] = inside ? x[((long)outer * axis_dim + index) * inner + k] : (T)0;
})CL";

Dims DenseStrides(DimSpan dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// Elements from one layout to another; the dims that both walk alike are joined.
class Copier {
 public:
  Copier() = default;
  explicit Copier(EntryPoint entry) : entry_(std::move(entry)) {}
  void Run(OpKernelContext& context, const Tensor& x, Tensor& y, DimSpan dims, DimSpan x_strides,
           DimSpan y_strides, std::int64_t x_first, std::int64_t y_first) const {
    Dims d, sx, sy;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (dims[k] == 0) return;
      if (dims[k] == 1) continue;
      if (!d.empty() && sx.back() == x_strides[k] * dims[k] &&
          sy.back() == y_strides[k] * dims[k]) {
        d.back() *= dims[k];
        sx.back() = x_strides[k];
        sy.back() = y_strides[k];
        continue;
      }
      d.push_back(dims[k]);
      sx.push_back(x_strides[k]);
      sy.push_back(y_strides[k]);
    }
    const std::int64_t n = Product(dims);
    entry_.On(context)
        .In(x)
        .Out(y)
        .Int(n)
        .Int(static_cast<std::int64_t>(d.size()))
        .Ints(d)
        .Ints(sx)
        .Ints(sy)
        .Int(x_first)
        .Int(y_first)
        .Run({n, 1, 1});
  }

 private:
  EntryPoint entry_;
};

class Movement : public ClKernel {
 public:
  Movement(OpKernelInfo& info, DataType type)
      : ClKernel(info),
        copy_(Copier(Build(kStridedCopy, {{"T", MoveType(type)}}, "strided_copy", {64, 1, 1}))) {}

 protected:
  Copier copy_;
};

class Transpose final : public Movement {
 public:
  explicit Transpose(OpKernelInfo& info) : Movement(info, info.input_type(0).elem) {
    const auto perm = info.attributes().Ints("perm");
    perm_.assign(perm.begin(), perm.end());
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const std::size_t rank = x.rank();
    const Dims dense = DenseStrides(x.dims());
    Dims dims(rank, 0), strides(rank, 0);
    if (!perm_.empty() && perm_.size() != rank)
      context.Fail("perm has another length than the rank of " + x.Describe());
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t from =
          perm_.empty() ? rank - 1 - i : NormalizeAxis(context, perm_[i], rank);
      dims[i] = x.dim(from);
      strides[i] = dense[from];
    }
    Tensor& y = context.Output(0, dims);
    copy_.Run(context, x, y, dims, strides, DenseStrides(dims), 0, 0);
  }

 private:
  Dims perm_;
};

class Expand final : public Movement {
 public:
  explicit Expand(OpKernelInfo& info) : Movement(info, info.input_type(0).elem) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims shape = ReadIntegers(context, 1);
    const std::size_t rank = std::max(shape.size(), x.rank());
    if (rank > 8) context.Fail("more than 8 dims", ErrorCode::kNotImplemented);
    const Dims dense = DenseStrides(x.dims());
    Dims dims(rank, 1), strides(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t a = i + x.rank() >= rank ? x.dim(i + x.rank() - rank) : 1;
      const std::int64_t b = i + shape.size() >= rank ? shape[i + shape.size() - rank] : 1;
      if (a != b && a != 1 && b != 1)
        context.Fail(fmt::format("{} can't be broadcast to dim {}", x.Describe(), b));
      dims[i] = a == 1 ? b : a;
      if (a != 1) strides[i] = dense[i + x.rank() - rank];
    }
    Tensor& y = context.Output(0, dims);
    copy_.Run(context, x, y, dims, strides, DenseStrides(dims), 0, 0);
  }
};

class Concat final : public Movement {
 public:
  explicit Concat(OpKernelInfo& info)
      : Movement(info, info.input_type(0).elem), axis_(info.attributes().Int("axis", 1)) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& first = context.Input(0);
    const std::size_t axis = NormalizeAxis(context, axis_, first.rank());
    Dims dims(first.dims());
    for (std::size_t i = 1; i < context.num_inputs(); ++i) {
      const Tensor& x = context.Input(i);
      if (x.rank() != first.rank()) context.Fail("inputs of different ranks");
      dims[axis] += x.dim(axis);
    }
    Tensor& y = context.Output(0, dims);
    const Dims strides = DenseStrides(dims);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.Input(i);
      if (x.size() != 0) copy_.Run(context, x, y, x.dims(), DenseStrides(x.dims()), strides, 0, at);
      at += x.dim(axis) * strides[axis];
    }
  }

 private:
  std::int64_t axis_;
};

class Slice final : public Movement {
 public:
  explicit Slice(OpKernelInfo& info)
      : Movement(info, info.input_type(0).elem), from_attributes_(info.node().SinceVersion() < 10) {
    const auto take = [&](const char* name, Dims* dims) {
      const auto values = info.attributes().Ints(name);
      dims->assign(values.begin(), values.end());
    };
    take("starts", &starts_);
    take("ends", &ends_);
    take("axes", &axes_);
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims starts = from_attributes_ ? starts_ : ReadIntegers(context, 1);
    const Dims ends = from_attributes_ ? ends_ : ReadIntegers(context, 2);
    Dims axes = axes_, steps;
    if (!from_attributes_ && context.has_input(3)) axes = ReadIntegers(context, 3);
    if (!from_attributes_ && context.has_input(4)) steps = ReadIntegers(context, 4);
    const auto fits = [&](const Dims& given) { return given.size() == starts.size(); };
    if (!fits(ends) || !(axes.empty() || fits(axes)) || !(steps.empty() || fits(steps)) ||
        starts.size() > x.rank()) {
      context.Fail("starts, ends, axes and steps do not fit together");
    }
    Dims dims(x.dims()), strides = DenseStrides(x.dims());
    std::int64_t first = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t axis = axes.empty() ? i : NormalizeAxis(context, axes[i], x.rank());
      const std::int64_t step = steps.empty() ? 1 : steps[i], d = x.dim(axis);
      if (step == 0) context.Fail("a step is 0");
      if (d == 0) continue;
      const auto clamp = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
        if (at < 0) at += d;
        return std::clamp(at, low, high);
      };
      const std::int64_t begin = step > 0 ? clamp(starts[i], 0, d) : clamp(starts[i], 0, d - 1);
      const std::int64_t end = step > 0 ? clamp(ends[i], 0, d) : clamp(ends[i], -1, d - 1);
      const std::int64_t span = step > 0 ? end - begin : begin - end;
      const std::uint64_t size =
          step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
      dims[axis] =
          span <= 0 ? 0
                    : static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / size) + 1;
      first += begin * strides[axis];
      strides[axis] = dims[axis] <= 1 ? 0 : strides[axis] * step;
    }
    Tensor& y = context.Output(0, dims);
    if (y.size() != 0) copy_.Run(context, x, y, dims, strides, DenseStrides(dims), first, 0);
  }

 private:
  bool from_attributes_;
  Dims starts_, ends_, axes_;
};

class Gather final : public ClKernel {
 public:
  explicit Gather(OpKernelInfo& info)
      : ClKernel(info),
        axis_(info.attributes().Int("axis", 0)),
        gather_(Build(
            kGather,
            {{"T", MoveType(info.input_type(0).elem)}, {"I", ClType(info.input_type(1).elem)}},
            "gather", {64, 1, 1})) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& at = context.Input(1);
    const std::size_t axis = NormalizeAxis(context, axis_, x.rank());
    Dims dims;
    for (std::size_t i = 0; i < axis; ++i) dims.push_back(x.dim(i));
    for (std::int64_t d : at.dims()) dims.push_back(d);
    for (std::size_t i = axis + 1; i < x.rank(); ++i) dims.push_back(x.dim(i));
    Tensor& y = context.Output(0, dims);
    gather_.On(context)
        .In(x)
        .In(at)
        .Out(y)
        .Int(y.size())
        .Int(x.dim(axis))
        .Int(at.size())
        .Int(Product(x.dims().subspan(axis + 1)))
        .Run({y.size(), 1, 1});
  }

 private:
  std::int64_t axis_;
  EntryPoint gather_;
};

std::string RankUpTo8(const Node& node) { return WhyNotRank(node); }

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  const auto moving = [](const char* op) {
    return KernelCreateInfo::For(op).Input(0, Families::moved()).Accepts(RankUpTo8);
  };
  families.Add(moving("Transpose").Make<Transpose>());
  families.Add(moving("Expand").Since(8).HostInput(1).Make<Expand>());
  families.Add(moving("Concat").Since(4).Make<Concat>());
  families.Add(moving("Slice").HostInput(1).HostInput(2).HostInput(3).HostInput(4).Make<Slice>());
  families.Add(moving("Gather").Input(1, types::kIndex).Make<Gather>());
}

}  // namespace switchyard::opencl::kernels::movement
