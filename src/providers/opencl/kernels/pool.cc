// MaxPool, AveragePool and their global forms over one or two spatial dims: one work-item per
// result.

#include "providers/opencl/window.h"

namespace switchyard::opencl::kernels::pool {
namespace {

constexpr const char* kCode = R"CL(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void pool(BUF(const T, x), BUF(T, y), int n, int in_h, int in_w, int out_h, int out_w,
          int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_top, int pad_left,
          int pad_bottom, int pad_right, int dilation_h, int dilation_w, int counts_pads) {
  AT(x); AT(y);
  int i = get_global_id(0);
  if (i >= n) return;
  int ox = i % out_w;
  int rest = i / out_w;
  int oy = rest % out_h;
  x += (long)(rest / out_h) * in_h * in_w;
  int y0 = oy * stride_h - pad_top, x0 = ox * stride_w - pad_left;
  C acc = START;
  int seen = 0;
  for (int ky = 0; ky < kernel_h; ++ky) {
    int iy = y0 + ky * dilation_h;
    if (iy < -pad_top || iy >= in_h + pad_bottom) continue;
    for (int kx = 0; kx < kernel_w; ++kx) {
      int ix = x0 + kx * dilation_w;
      if (ix < -pad_left || ix >= in_w + pad_right) continue;
      bool inside = iy >= 0 && iy < in_h && ix >= 0 && ix < in_w;
      seen += inside || counts_pads;
      if (!inside) continue;
      C v = (C)x[(long)iy * in_w + ix];
      acc = STEP;
    }
  }
  y[i] = (T)(FINISH);
})CL";

class Pool final : public ClKernel {
 public:
  explicit Pool(OpKernelInfo& info)
      : ClKernel(info),
        global_(info.node().OpType().starts_with("Global")),
        window_(global_ ? Attributes() : info.attributes()),
        counts_pads_(info.attributes().Int("count_include_pad", 0) != 0) {
    const bool is_max = info.node().OpType().ends_with("MaxPool");
    const DataType type = info.input_type(0).elem;
    Defines defines{{"T", ClType(type)}, {"C", ComputeType(type)}};
    if (is_max) {
      defines["START"] = type == DataType::kInt8    ? "-128"
                         : type == DataType::kUint8 ? "0"
                                                    : "-INFINITY";
      defines["STEP"] = "(v > acc || v != v) ? v : acc";
      defines["FINISH"] = "acc";
    } else {
      defines["START"] = "0";
      defines["STEP"] = "acc + v";
      defines["FINISH"] = "seen > 0 ? acc / (C)seen : (C)0";
    }
    pool_ = Build(kCode, defines, "pool", {64, 1, 1});
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0);
    const Window w = MakeWindow(context, window_, x.dims(),
                                global_ ? x.dims().subspan(2) : DimSpan(window_.kernel));
    pool_.On(context)
        .In(x)
        .Out(y)
        .Int(y.size())
        .Int(w.in_h)
        .Int(w.in_w)
        .Int(w.out_h)
        .Int(w.out_w)
        .Int(w.kernel_h)
        .Int(w.kernel_w)
        .Int(w.stride_h)
        .Int(w.stride_w)
        .Int(w.pad_top)
        .Int(w.pad_left)
        .Int(w.pad_bottom)
        .Int(w.pad_right)
        .Int(w.dilation_h)
        .Int(w.dilation_w)
        .Int(counts_pads_ ? 1 : 0)
        .Run({y.size(), 1, 1});
  }

 private:
  bool global_;
  WindowAttributes window_;
  bool counts_pads_;
  EntryPoint pool_;
};

std::string WhyNot(const Node& node) {
  if (node.outputs().size() > 1 && node.outputs()[1] != nullptr)
    return "indices of the maxima are not supported";
  return WhyNotPlanar(node);
}

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  const TypeSet narrow = DataType::kInt8 | DataType::kUint8;
  for (const char* op : {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"}) {
    const bool is_max = std::string_view(op) == "MaxPool";
    families.Add(KernelCreateInfo::For(op)
                     .Input(0, is_max ? families.floats() | narrow : families.floats())
                     .Accepts(WhyNot)
                     .Make<Pool>());
  }
}

}  // namespace switchyard::opencl::kernels::pool
