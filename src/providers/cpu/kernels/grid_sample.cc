// GridSample over any number of spatial dimensions, and AffineGrid.

#include "providers/cpu/kernels/common/kernel_common.h"

namespace switchyard::cpu::kernels::grid_sample {
namespace {

enum class Mode : std::uint8_t { kNearest, kLinear, kCubic };
enum class Padding : std::uint8_t { kZeros, kBorder, kReflection };

constexpr std::size_t kMaxSpatial = 4;

class GridSample final : public OpKernel {
 public:
  explicit GridSample(OpKernelInfo& info) : align_(info.attributes().Int("align_corners", 0) != 0) {
    const std::string mode = info.attributes().String("mode", "linear");
    if (mode == "linear" || mode == "bilinear") {
      mode_ = Mode::kLinear;
    } else if (mode == "nearest") {
      mode_ = Mode::kNearest;
    } else if (mode == "cubic" || mode == "bicubic") {
      mode_ = Mode::kCubic;
    } else {
      info.Fail("mode is '" + mode + "'");
    }
    const std::string padding = info.attributes().String("padding_mode", "zeros");
    if (padding == "zeros") {
      padding_ = Padding::kZeros;
    } else if (padding == "border") {
      padding_ = Padding::kBorder;
    } else if (padding == "reflection") {
      padding_ = Padding::kReflection;
    } else {
      info.Fail("padding_mode is '" + padding + "'");
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& grid = context.Input(1);
    const std::size_t spatial = x.rank() - 2;
    if (x.rank() < 3 || spatial > kMaxSpatial || grid.rank() != x.rank() ||
        grid.dim(grid.rank() - 1) != static_cast<std::int64_t>(spatial) ||
        grid.dim(0) != x.dim(0)) {
      context.Fail("X is " + x.Describe() + ", grid is " + grid.Describe());
    }
    Dims dims{x.dim(0), x.dim(1)};
    for (std::size_t i = 0; i < spatial; ++i) dims.push_back(grid.dim(i + 1));
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    if (x.size() == 0) context.Fail("X is empty: " + x.Describe());
    DispatchType(x.type(), FloatTypes{}, [&](auto xt) {
      using X = typename decltype(xt)::type;
      DispatchType(grid.type(), FloatTypes{}, [&](auto gt) {
        using G = typename decltype(gt)::type;
        Run(context, x, x.data<X>(), grid.data<G>(), spatial, y.data_mutable<X>(),
            Product(y.dims().subspan(2)));
      });
    });
  }

 private:
  template <typename X, typename G>
  void Run(OpKernelContext& context, const Tensor& x, const X* data, const G* grid,
           std::size_t spatial, X* y, std::int64_t points) const {
    const std::int64_t channels = x.dim(1), plane = Product(x.dims().subspan(2));
    const auto in = x.dims().subspan(2);
    ParallelItems(context, x.dim(0) * points, 20.0 * static_cast<double>(channels),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t p = begin; p < end; ++p) {
                      const std::int64_t n = p / points;
                      double at[kMaxSpatial];
                      for (std::size_t i = 0; i < spatial; ++i) {
                        // The grid's innermost coordinate belongs to the innermost spatial dim.
                        const auto v = static_cast<double>(
                            Widen(grid[p * static_cast<std::int64_t>(spatial) +
                                       static_cast<std::int64_t>(spatial - 1 - i)]));
                        at[i] = Denormalize(v, in[i]);
                      }
                      for (std::int64_t c = 0; c < channels; ++c) {
                        const X* from = data + (n * channels + c) * plane;
                        y[(n * channels + c) * points + p % points] =
                            Narrow<X>(static_cast<ComputeOf<X>>(Point(from, in, at)));
                      }
                    }
                  });
  }

  double Denormalize(double v, std::int64_t size) const {
    const auto n = static_cast<double>(size);
    return align_ ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
  }

  double Reflected(double v, std::int64_t size) const {
    const double low = align_ ? 0.0 : -0.5,
                 high = align_ ? static_cast<double>(size - 1) : static_cast<double>(size) - 0.5;
    const double range = high - low;
    if (!(range > 0) || !std::isfinite(v)) return 0;
    const double from = std::fmod(std::abs(v - low), 2 * range);
    return from > range ? high - (from - range) : low + from;
  }

  // Where a coordinate is read after padding; for linear and nearest modes.
  double Placed(double v, std::int64_t size) const {
    if (padding_ == Padding::kReflection) v = Reflected(v, size);
    if (padding_ != Padding::kZeros) v = std::clamp(v, 0.0, static_cast<double>(size - 1));
    return v == v ? std::clamp(v, -4e9, 4e9) : -4e9;
  }

  // An index of a tap, or -1 for zero.
  std::int64_t TapIndex(std::int64_t i, std::int64_t size) const {
    if (i >= 0 && i < size) return i;
    switch (padding_) {
      case Padding::kZeros:
        return -1;
      case Padding::kBorder:
        return i < 0 ? 0 : size - 1;
      case Padding::kReflection:
        return std::clamp<std::int64_t>(
            static_cast<std::int64_t>(std::nearbyint(Reflected(static_cast<double>(i), size))), 0,
            size - 1);
    }
    return -1;
  }

  static void CubicWeights(double t, double* w) {
    constexpr double a = -0.75;
    const auto outer = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const auto inner = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    w[0] = outer(t + 1);
    w[1] = inner(t);
    w[2] = inner(1 - t);
    w[3] = outer(2 - t);
  }

  template <typename X>
  double Point(const X* from, std::span<const std::int64_t> in, const double* at) const {
    // Taps and weights of each dim, then their product grid.
    std::int64_t index[kMaxSpatial][4];
    double weight[kMaxSpatial][4];
    const int taps = mode_ == Mode::kNearest ? 1 : mode_ == Mode::kLinear ? 2 : 4;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (mode_ == Mode::kCubic) {
        const double v = at[i] == at[i] ? std::clamp(at[i], -4e9, 4e9) : -4e9;
        const double base = std::floor(v);
        CubicWeights(v - base, weight[i]);
        for (int t = 0; t < 4; ++t)
          index[i][t] = TapIndex(static_cast<std::int64_t>(base) - 1 + t, in[i]);
      } else if (mode_ == Mode::kLinear) {
        const double v = Placed(at[i], in[i]), base = std::floor(v);
        weight[i][1] = v - base;
        weight[i][0] = 1 - weight[i][1];
        for (int t = 0; t < 2; ++t)
          index[i][t] = TapIndex(static_cast<std::int64_t>(base) + t, in[i]);
      } else {
        const double v = padding_ == Padding::kZeros ? Placed(std::nearbyint(at[i]), in[i])
                                                     : std::nearbyint(Placed(at[i], in[i]));
        weight[i][0] = 1;
        index[i][0] = TapIndex(static_cast<std::int64_t>(v), in[i]);
      }
    }
    return Grid(from, in, index, weight, taps, 0, 0);
  }

  template <typename X>
  static double Grid(const X* from, std::span<const std::int64_t> in,
                     const std::int64_t (*index)[4], const double (*weight)[4], int taps,
                     std::size_t dim, std::int64_t offset) {
    if (dim == in.size()) return static_cast<double>(Widen(from[offset]));
    double sum = 0;
    for (int t = 0; t < taps; ++t) {
      if (index[dim][t] < 0 || weight[dim][t] == 0) continue;
      sum += weight[dim][t] *
             Grid(from, in, index, weight, taps, dim + 1, offset * in[dim] + index[dim][t]);
    }
    return sum;
  }

  bool align_;
  Mode mode_;
  Padding padding_;
};

class AffineGrid final : public OpKernel {
 public:
  explicit AffineGrid(OpKernelInfo& info)
      : align_(info.attributes().Int("align_corners", 0) != 0) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& theta = context.Input(0);
    const Dims size = ReadIntegers(context, 1);
    const bool volume = size.size() == 5;
    const std::int64_t n = volume ? 3 : 2;
    if ((size.size() != 4 && !volume) || theta.rank() != 3 || theta.dim(0) != size[0] ||
        theta.dim(1) != n || theta.dim(2) != n + 1) {
      context.Fail("theta is " + theta.Describe() + ", size is " + DimsToString(size));
    }
    Dims dims{size[0]};
    for (std::size_t i = 2; i < size.size(); ++i) {
      if (size[i] < 0) context.Fail("size is " + DimsToString(size));
      dims.push_back(size[i]);
    }
    dims.push_back(n);
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    const std::int64_t points = y.size() / (size[0] * n);
    DispatchType(theta.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ParallelItems(context, size[0] * points, 10, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p) {
          double at[3];  // x, y, z
          std::int64_t rest = p % points;
          for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t extent = size[size.size() - 1 - static_cast<std::size_t>(k)];
            at[k] = Coordinate(rest % extent, extent);
            rest /= extent;
          }
          const T* matrix = theta.data<T>() + p / points * n * (n + 1);
          for (std::int64_t r = 0; r < n; ++r) {
            double sum = static_cast<double>(Widen(matrix[r * (n + 1) + n]));
            for (std::int64_t k = 0; k < n; ++k)
              sum += static_cast<double>(Widen(matrix[r * (n + 1) + k])) * at[k];
            y.data_mutable<T>()[p * n + r] = Narrow<T>(static_cast<ComputeOf<T>>(sum));
          }
        }
      });
    });
  }

 private:
  double Coordinate(std::int64_t i, std::int64_t size) const {
    const auto n = static_cast<double>(size), v = static_cast<double>(i);
    if (align_) return size > 1 ? -1 + 2 * v / (n - 1) : -1.0;
    return (2 * v + 1) / n - 1;
  }
  bool align_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("GridSample")
                        .Input(0, types::kFloats)
                        .Input(1, types::kFloats)
                        .Make<GridSample>());
  registry.Register(
      KernelCreateInfo::For("AffineGrid").Input(0, types::kFloats).HostInput(1).Make<AffineGrid>());
}

}  // namespace switchyard::cpu::kernels::grid_sample
