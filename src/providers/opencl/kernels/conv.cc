// Conv over one or two spatial dims: a product of matrices where the kernel is 1 x 1, else direct:
// each work-item holds OCS output channels of a strip of neighbouring pixels in registers.

#include "providers/opencl/gemm.h"
#include "providers/opencl/window.h"

namespace switchyard::opencl::kernels::conv {
namespace {

constexpr const char* kDirect = R"CL(
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#if W == 1
#define CV C
#else
#define CV JOIN(C, W)
#endif

__kernel __attribute__((reqd_work_group_size(LX, 1, 1))) __attribute__((vec_type_hint(CV)))
void conv(BUF(const T, x), BUF(const T, w), BUF(const T, bias), BUF(T, y), int batches, int groups,
          int group_in, int group_out, int in_h, int in_w, int out_h, int out_w, int kernel_h,
          int kernel_w, int stride_h, int stride_w, int pad_top, int pad_left, int dilation_h,
          int dilation_w, int has_bias) {
  AT(x); AT(w); AT(bias); AT(y);
  int strips = (out_w + W - 1) / W;
  int id = get_global_id(0);
  int blocks = (group_out + OCS - 1) / OCS;
  if (id >= strips * out_h) return;
  int ox = (id % strips) * W, oy = id / strips;
  int block = get_global_id(1);
  int group = block / blocks;
  int oc = (block % blocks) * OCS;
  int batch = get_global_id(2);
  x += ((long)batch * groups + group) * group_in * in_h * in_w;
  int weights = group_in * kernel_h * kernel_w;
  w += ((long)group * group_out + oc) * weights;
  int rows[OCS];
  CV acc[OCS];
  for (int i = 0; i < OCS; ++i) {
    int c = min(i, group_out - 1 - oc);
    rows[i] = c * weights;
    acc[i] = has_bias ? (CV)(C)bias[group * group_out + oc + c] : (CV)0;
  }
  int iy0 = oy * stride_h - pad_top, ix0 = ox * stride_w - pad_left;
  for (int ic = 0; ic < group_in; ++ic) {
    for (int ky = 0; ky < kernel_h; ++ky) {
      int iy = iy0 + ky * dilation_h;
      if (iy < 0 || iy >= in_h) continue;
      __global const T* row = x + ((long)ic * in_h + iy) * in_w;
      for (int kx = 0; kx < kernel_w; ++kx) {
        int ix = ix0 + kx * dilation_w;
        CV v;
#if W == 1
        v = ix >= 0 && ix < in_w ? (C)row[ix] : (C)0;
#else
        if (stride_w == 1 && ix >= 0 && ix + W <= in_w) {
          v = JOIN(convert_, CV)(JOIN(vload, W)(0, row + ix));
        } else {
          C one[W];
#pragma unroll
          for (int j = 0; j < W; ++j) {
            int at = ix + j * stride_w;
            one[j] = at >= 0 && at < in_w ? (C)row[at] : (C)0;
          }
          v = JOIN(vload, W)(0, one);
        }
#endif
        int at = (ic * kernel_h + ky) * kernel_w + kx;
#pragma unroll
        for (int i = 0; i < OCS; ++i) acc[i] += (C)w[rows[i] + at] * v;
      }
    }
  }
  y += (((long)batch * groups + group) * group_out + oc) * out_h * out_w + (long)oy * out_w + ox;
  for (int i = 0; i < OCS && oc + i < group_out; ++i) {
    __global T* out = y + (long)i * out_h * out_w;
#if W == 1
    out[0] = (T)acc[i];
#else
    C one[W];
    JOIN(vstore, W)(acc[i], 0, one);
    for (int j = 0; j < W && ox + j < out_w; ++j) out[j] = (T)one[j];
#endif
  }
})CL";

class Conv final : public ClKernel {
 public:
  explicit Conv(OpKernelInfo& info)
      : ClKernel(info),
        window_(info.attributes()),
        groups_(info.attributes().Int("group", 1)),
        has_bias_(info.has_input(2)),
        gemm_(info.input_type(0).elem, Builder(), lanes(), {false, false, has_bias_}) {
    const DataType type = info.input_type(0).elem;
    const Shape& weights = info.input_type(1).shape;
    Dims w;
    if (weights.is_concrete()) w = weights.concrete();
    is_product_ = groups_ == 1 && !w.empty() && Product(DimSpan(w).subspan(2)) == 1 && Plain();
    if (is_product_) return;
    // A depthwise work-item has one channel; its strip is what is shared.
    const std::int64_t group_out = w.empty() ? 0 : w[0] / std::max<std::int64_t>(groups_, 1);
    channels_ = group_out == 1 ? 1 : group_out >= 16 && lanes() > 1 ? 8 : 4;
    const int local = lanes() == 1 ? 64 : 4;
    direct_ = Build(kDirect,
                    {{"T", ClType(type)},
                     {"C", ComputeType(type)},
                     {"W", std::to_string(lanes())},
                     {"OCS", std::to_string(channels_)},
                     {"LX", std::to_string(local)}},
                    "conv", {local, 1, 1});
  }

  std::string Variant() const override {
    return is_product_ ? "product" : channels_ == 1 ? "depthwise" : "direct";
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    Tensor& y = context.Output(0);
    if (y.size() == 0) return;
    if (w.rank() != x.rank() || groups_ <= 0 || w.dim(1) * groups_ != x.dim(1) ||
        w.dim(0) % groups_ != 0) {
      context.Fail(fmt::format("weight {} and input {} do not fit, group {}", w.Describe(),
                               x.Describe(), groups_));
    }
    const Tensor* bias = has_bias_ ? &context.Input(2) : nullptr;
    if (bias != nullptr && bias->size() != w.dim(0)) context.Fail("bias has another size");
    if (is_product_) return Multiply(context, x, w, bias, y);
    const Window window = MakeWindow(context, window_, x.dims(), w.dims().subspan(2));
    const std::int64_t group_out = w.dim(0) / groups_;
    Launch launch = direct_.On(context);
    launch.In(x).In(w);
    if (bias != nullptr) {
      launch.In(*bias);
    } else {
      launch.NoBuffer();
    }
    launch.Out(y).Int(x.dim(0)).Int(groups_).Int(w.dim(1)).Int(group_out);
    launch.Int(window.in_h).Int(window.in_w).Int(window.out_h).Int(window.out_w);
    launch.Int(window.kernel_h).Int(window.kernel_w).Int(window.stride_h).Int(window.stride_w);
    launch.Int(window.pad_top).Int(window.pad_left);
    launch.Int(window.dilation_h).Int(window.dilation_w).Int(has_bias_ ? 1 : 0);
    const std::int64_t strips = (window.out_w + lanes() - 1) / lanes();
    launch.Run(
        {strips * window.out_h, groups_ * ((group_out + channels_ - 1) / channels_), x.dim(0)});
  }

 private:
  bool Plain() const {
    const auto all = [](const Dims& dims, std::int64_t value) {
      return std::all_of(dims.begin(), dims.end(), [&](std::int64_t d) { return d == value; });
    };
    return all(window_.strides, 1) && all(window_.pads, 0);
  }

  // Y[b] = W * X[b] + bias, the bias along the rows.
  void Multiply(OpKernelContext& context, const Tensor& x, const Tensor& w, const Tensor* bias,
                Tensor& y) const {
    GemmShape shape;
    shape.m = w.dim(0);
    shape.k = w.dim(1);
    shape.n = Product(x.dims().subspan(2));
    shape.a_row = shape.k;
    shape.b_row = shape.n;
    shape.c_row = 1;
    shape.batches = x.dim(0);
    shape.batch_dims.push_back(shape.batches);
    shape.batch_a.push_back(0);
    shape.batch_b.push_back(shape.k * shape.n);
    gemm_.Run(context, w, x, bias, y, shape);
  }

  WindowAttributes window_;
  std::int64_t groups_;
  bool has_bias_, is_product_ = false;
  int channels_ = 4;
  GemmLauncher gemm_;
  EntryPoint direct_;
};

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  families.Add(
      KernelCreateInfo::For("Conv").Input(0, families.floats()).Accepts(WhyNotPlanar).Make<Conv>());
}

}  // namespace switchyard::opencl::kernels::conv
