// LayerNormalization, RMSNormalization, BatchNormalization, InstanceNormalization.

#include "providers/opencl/kernel.h"

namespace switchyard::opencl::kernels::norm {
namespace {

// One work-item per row of `count` elements.
constexpr const char* kLayerNorm = R"CL(
__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void layer_norm(BUF(const T, x), BUF(const T, scale), BUF(const T, bias), BUF(T, y),
                BUF(M, mean_out), BUF(M, inverse_out), int rows, int count, int scale_size,
                int outputs, float epsilon) {
  AT(x); AT(scale); AT(y); AT(bias); AT(mean_out); AT(inverse_out);
  int row = get_global_id(0);
  if (row >= rows) return;
  x += (long)row * count;
  y += (long)row * count;
  C mean = 0;
#ifndef RMS
  for (int i = 0; i < count; ++i) mean += (C)x[i];
  mean /= (C)count;
#endif
  C variance = 0;
  for (int i = 0; i < count; ++i) { C v = (C)x[i] - mean; variance += v * v; }
  C inverse = (C)1 / sqrt(variance / (C)count + (C)epsilon);
  for (int i = 0; i < count; ++i) {
    C v = ((C)x[i] - mean) * inverse * (C)scale[scale_size == count ? i : 0];
#ifdef BIAS
    v += (C)bias[i];
#endif
    y[i] = (T)v;
  }
  if (outputs & 2) mean_out[row] = (M)mean;
  if (outputs & 4) inverse_out[row] = (M)inverse;
})CL";

class LayerNorm final : public ClKernel {
 public:
  explicit LayerNorm(OpKernelInfo& info)
      : ClKernel(info),
        axis_(info.attributes().Int("axis", -1)),
        epsilon_(info.attributes().Float("epsilon", 1e-5f)),
        has_bias_(info.has_input(2)) {
    const DataType type = info.input_type(0).elem;
    DataType stash = type;
    for (std::size_t i = 1; i < 3; ++i) {
      if (!info.has_output(i)) continue;
      outputs_ |= 1 << i;
      stash = info.output_type(i).elem;
    }
    Defines defines{{"T", ClType(type)}, {"C", ComputeType(type)}, {"M", ClType(stash)}};
    if (has_bias_) defines["BIAS"] = "1";
    if (info.node().OpType() == "RMSNormalization") defines["RMS"] = "1";
    norm_ = Build(kLayerNorm, defines, "layer_norm", {16, 1, 1});
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& scale = context.Input(1);
    const std::size_t axis = NormalizeAxis(context, axis_, x.rank());
    const std::int64_t count = Product(x.dims().subspan(axis));
    const std::int64_t rows = count == 0 ? 0 : x.size() / count;
    if (scale.size() != count && scale.size() != 1) context.Fail("scale has another size");
    Launch launch = norm_.On(context);
    launch.In(x).In(scale);
    if (has_bias_) {
      if (context.Input(2).size() != count) context.Fail("bias has another size");
      launch.In(context.Input(2));
    } else {
      launch.NoBuffer();
    }
    launch.Out(context.Output(0));
    for (std::size_t i = 1; i < 3; ++i) {
      if ((outputs_ >> i & 1) != 0) {
        launch.Out(context.Output(i));
      } else {
        launch.NoBuffer();
      }
    }
    launch.Int(rows).Int(count).Int(scale.size()).Int(outputs_).Float(epsilon_).Run({rows, 1, 1});
  }

 private:
  std::int64_t axis_;
  float epsilon_;
  bool has_bias_;
  int outputs_ = 1;
  EntryPoint norm_;
};

// y = x * factor + shift per channel, both from statistics that are there.
constexpr const char* kBatchNorm = R"CL(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void batch_norm(BUF(const T, x), BUF(const P, scale), BUF(const P, bias), BUF(const P, mean),
                BUF(const P, variance), BUF(T, y), int n, int channels, int inner, float epsilon) {
  AT(x); AT(scale); AT(bias); AT(mean); AT(variance); AT(y);
  int i = get_global_id(0);
  if (i >= n) return;
  int c = (i / inner) % channels;
  C factor = (C)scale[c] / sqrt((C)variance[c] + (C)epsilon);
  y[i] = (T)(((C)x[i] - (C)mean[c]) * factor + (C)bias[c]);
})CL";

class BatchNorm final : public ClKernel {
 public:
  explicit BatchNorm(OpKernelInfo& info)
      : ClKernel(info), epsilon_(info.attributes().Float("epsilon", 1e-5f)) {
    const DataType type = info.input_type(0).elem;
    norm_ = Build(
        kBatchNorm,
        {{"T", ClType(type)}, {"C", ComputeType(type)}, {"P", ClType(info.input_type(1).elem)}},
        "batch_norm", {64, 1, 1});
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0);
    const std::int64_t channels = x.rank() > 1 ? x.dim(1) : 1;
    const std::int64_t inner = x.rank() > 2 ? Product(x.dims().subspan(2)) : 1;
    Launch launch = norm_.On(context);
    for (std::size_t i = 0; i < 5; ++i) {
      if (i > 0 && context.Input(i).size() != channels)
        context.Fail(fmt::format("input {} is {}, not of {} channels", i,
                                 context.Input(i).Describe(), channels));
      launch.In(context.Input(i));
    }
    launch.Out(y).Int(y.size()).Int(channels).Int(inner).Float(epsilon_).Run({y.size(), 1, 1});
  }

 private:
  float epsilon_;
  EntryPoint norm_;
};

// One work-item per image and channel.
constexpr const char* kInstanceNorm = R"CL(
__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void instance_norm(BUF(const T, x), BUF(const T, scale), BUF(const T, bias), BUF(T, y), int planes,
                   int channels, int inner, float epsilon) {
  AT(x); AT(scale); AT(bias); AT(y);
  int plane = get_global_id(0);
  if (plane >= planes) return;
  x += (long)plane * inner;
  y += (long)plane * inner;
  C mean = 0, variance = 0;
  for (int i = 0; i < inner; ++i) mean += (C)x[i];
  mean /= (C)inner;
  for (int i = 0; i < inner; ++i) { C v = (C)x[i] - mean; variance += v * v; }
  C factor = (C)scale[plane % channels] / sqrt(variance / (C)inner + (C)epsilon);
  C shift = (C)bias[plane % channels];
  for (int i = 0; i < inner; ++i) y[i] = (T)(((C)x[i] - mean) * factor + shift);
})CL";

class InstanceNorm final : public ClKernel {
 public:
  explicit InstanceNorm(OpKernelInfo& info)
      : ClKernel(info), epsilon_(info.attributes().Float("epsilon", 1e-5f)) {
    const DataType type = info.input_type(0).elem;
    norm_ = Build(kInstanceNorm, {{"T", ClType(type)}, {"C", ComputeType(type)}}, "instance_norm",
                  {16, 1, 1});
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() < 2) context.Fail(x.Describe() + " has no channels");
    const std::int64_t planes = x.dim(0) * x.dim(1), inner = Product(x.dims().subspan(2));
    for (std::size_t i = 1; i < 3; ++i) {
      if (context.Input(i).size() != x.dim(1)) context.Fail("not one value per channel");
    }
    norm_.On(context)
        .In(x)
        .In(context.Input(1))
        .In(context.Input(2))
        .Out(context.Output(0))
        .Int(planes)
        .Int(x.dim(1))
        .Int(inner)
        .Float(epsilon_)
        .Run({inner == 0 ? 0 : planes, 1, 1});
  }

 private:
  float epsilon_;
  EntryPoint norm_;
};

std::string OnlyInference(const Node& node) {
  const auto outputs = node.outputs();
  const bool more = std::any_of(outputs.begin() + 1, outputs.end(),
                                [](const NodeArg* output) { return output != nullptr; });
  return more || node.attributes().Int("training_mode", 0) != 0 ? "training is not supported"
                                                                : std::string();
}

}  // namespace

void Register(Families& families);
void Register(Families& families) {
  families.Add(KernelCreateInfo::For("LayerNormalization")
                   .Input(0, families.floats())
                   .Input(1, families.floats())
                   .Make<LayerNorm>());
  families.Add(KernelCreateInfo::For("RMSNormalization")
                   .Input(0, families.floats())
                   .Input(1, families.floats())
                   .Accepts([](const Node& node) {
                     return node.inputs()[0]->type().elem == node.inputs()[1]->type().elem
                                ? std::string()
                                : "scale has another type";
                   })
                   .Make<LayerNorm>());
  families.Add(KernelCreateInfo::For("BatchNormalization")
                   .Since(7)
                   .Input(0, families.floats())
                   .Input(1, families.floats())
                   .Accepts(OnlyInference)
                   .Make<BatchNorm>());
  families.Add(KernelCreateInfo::For("InstanceNormalization")
                   .Since(6)
                   .Input(0, families.floats())
                   .Make<InstanceNorm>());
}

}  // namespace switchyard::opencl::kernels::norm
