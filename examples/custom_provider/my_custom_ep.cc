#include "my_custom_ep.h"

#include <algorithm>
#include <cstring>

namespace {

using namespace onnxruntime;

// Float convolution over images, NCHW. One chunk of work is one output plane.
class ConvKernel final : public OpKernel {
 public:
  explicit ConvKernel(OpKernelInfo& info) {
    const Attributes& attributes = info.attributes();
    group_ = attributes.Int("group", 1);
    const auto read = [&](const char* name, std::int64_t* values, std::size_t count) {
      const auto given = attributes.Ints(name);
      std::copy_n(given.begin(), std::min(count, given.size()), values);
    };
    read("strides", strides_, 2);
    read("dilations", dilations_, 2);
    read("pads", pads_, 4);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    const Tensor* bias = context.OptionalInput(2);
    Tensor& y = context.Output(0);
    const std::int64_t channels = w.dim(0);
    context.team().ParallelFor(y.dim(0) * channels, [&](std::int64_t plane, int) {
      const std::int64_t channel = plane % channels;
      const float start = bias == nullptr ? 0.0f : bias->data<float>()[channel];
      Plane(x, w, plane / channels, channel, start, y);
    });
  }

 private:
  void Plane(const Tensor& x, const Tensor& w, std::int64_t image, std::int64_t channel,
             float start, Tensor& y) const {
    const std::int64_t height = y.dim(2), width = y.dim(3), depth = w.dim(1);
    float* out = y.data_mutable<float>() + (image * y.dim(1) + channel) * height * width;
    std::fill_n(out, height * width, start);
    const std::int64_t first = channel / (w.dim(0) / group_) * depth;
    for (std::int64_t c = 0; c < depth; ++c) {
      const float* in = x.data<float>() + (image * x.dim(1) + first + c) * x.dim(2) * x.dim(3);
      const float* taps = w.data<float>() + (channel * depth + c) * w.dim(2) * w.dim(3);
      for (std::int64_t ky = 0; ky < w.dim(2); ++ky) {
        for (std::int64_t kx = 0; kx < w.dim(3); ++kx) {
          Tap(in, x.dim(2), x.dim(3), ky * dilations_[0] - pads_[0], kx * dilations_[1] - pads_[1],
              taps[ky * w.dim(3) + kx], out, height, width);
        }
      }
    }
  }

  // Adds one weight times the shifted input plane.
  void Tap(const float* in, std::int64_t rows, std::int64_t columns, std::int64_t dy,
           std::int64_t dx, float weight, float* out, std::int64_t height,
           std::int64_t width) const {
    for (std::int64_t oy = 0; oy < height; ++oy) {
      const std::int64_t iy = oy * strides_[0] + dy;
      if (iy < 0 || iy >= rows) continue;
      for (std::int64_t ox = 0; ox < width; ++ox) {
        const std::int64_t ix = ox * strides_[1] + dx;
        if (ix >= 0 && ix < columns) out[oy * width + ox] += weight * in[iy * columns + ix];
      }
    }
  }

  std::int64_t group_ = 1;
  std::int64_t strides_[2] = {1, 1}, dilations_[2] = {1, 1}, pads_[4] = {0, 0, 0, 0};
};

std::string WhyNot(const Node& node) {
  const Shape& weight = node.inputs()[1]->type().shape;
  if (!weight.ranked() || weight.rank() != 4) return "only images: the weight must have 4 dims";
  const std::string padding = node.attributes().String("auto_pad", "NOTSET");
  return padding == "NOTSET" ? "" : "auto_pad " + padding + " is not done here";
}

}  // namespace

std::vector<std::unique_ptr<ComputeCapability>> MyCustomEP::GetCapability(
    const GraphViewer& graph, const IKernelLookup& lookup, const GraphOptimizerRegistry&,
    IResourceAccountant*) const {
  std::vector<std::unique_ptr<ComputeCapability>> claims;
  for (NodeIndex index : graph.GetNodesInTopologicalOrder()) {
    const Node& node = *graph.GetNode(index);
    if (node.OpType() != "Conv" || lookup.LookUpKernel(node) == nullptr) continue;
    auto nodes = std::make_unique<IndexedSubGraph>();
    nodes->nodes.push_back(node.Index());
    claims.emplace_back(std::make_unique<ComputeCapability>(std::move(nodes)));
  }
  return claims;
}

std::shared_ptr<KernelRegistry> MyCustomEP::GetKernelRegistry() const {
  static const std::shared_ptr<KernelRegistry> registry = [] {
    auto made = std::make_shared<KernelRegistry>();
    made->Register(
        KernelCreateInfo::For("Conv").Input(0, types::kFloat32).Accepts(WhyNot).Make<ConvKernel>());
    return made;
  }();
  return registry;
}
