// Resize and its predecessor Upsample: separable, one table of taps per axis.

#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/kernels/resize_axes/axis_table.h"

namespace switchyard::cpu::kernels::resize {
namespace {

using resize_axes::Axis;
using resize_axes::Coordinates;
using resize_axes::Mode;
using resize_axes::Nearest;
using resize_axes::Rules;

constexpr std::size_t kMaxRank = 8;

// The axes that change, with their tables, and the sizes of the passes over them.
struct Job {
  std::size_t rank = 0;
  Axis axis[kMaxRank];
  bool changes[kMaxRank] = {};
  std::int64_t taps[kMaxRank] = {};
  std::int32_t* index[kMaxRank] = {};
  float* weight[kMaxRank] = {};
  std::size_t table_bytes = 0;
  std::int64_t largest_step = 0;  // elements of the largest intermediate result
};

std::size_t RoundUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

void Measure(const Rules& rules, Job* job) {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < job->rank; ++i) elements *= job->axis[i].in;
  for (std::size_t i = 0; i < job->rank; ++i) {
    const Axis& axis = job->axis[i];
    job->changes[i] = !IsIdentity(rules, axis);
    if (!job->changes[i]) continue;
    job->taps[i] = TapCount(rules, axis);
    const auto entries = static_cast<std::size_t>(axis.out * job->taps[i]);
    job->table_bytes += RoundUp(entries * sizeof(std::int32_t)) + RoundUp(entries * sizeof(float));
    if (axis.in > 0) elements = elements / axis.in * axis.out;
    job->largest_step = std::max(job->largest_step, elements);
  }
}

// A row of the innermost axis through a table.
template <typename In, typename Acc>
void InnerRow(const In* row, Acc* out, std::int64_t count, std::int64_t taps,
              const std::int32_t* index, const float* weight, Acc outside) {
  if (taps == 2) {
    for (std::int64_t o = 0; o < count; ++o) {
      const std::int32_t a = index[2 * o], b = index[2 * o + 1];
      out[o] = a < 0 ? outside
                     : static_cast<Acc>(Widen(row[a])) * static_cast<Acc>(weight[2 * o]) +
                           static_cast<Acc>(Widen(row[b])) * static_cast<Acc>(weight[2 * o + 1]);
    }
    return;
  }
  for (std::int64_t o = 0; o < count; ++o) {
    Acc sum = 0;
    for (std::int64_t t = 0; t < taps && index[o * taps] >= 0; ++t) {
      sum += static_cast<Acc>(Widen(row[index[o * taps + t]])) *
             static_cast<Acc>(weight[o * taps + t]);
    }
    out[o] = index[o * taps] < 0 ? outside : sum;
  }
}

// One output line of an outer axis: a weighted sum of input lines of `inner` elements.
template <typename In, typename Acc>
void OuterLine(const In* base, Acc* out, std::int64_t inner, std::int64_t taps,
               const std::int32_t* index, const float* weight, Acc outside) {
  if (index[0] < 0) {
    std::fill_n(out, inner, outside);
    return;
  }
  if (taps == 2) {
    const In* a = base + index[0] * inner;
    const In* b = base + index[1] * inner;
    const auto wa = static_cast<Acc>(weight[0]), wb = static_cast<Acc>(weight[1]);
    for (std::int64_t i = 0; i < inner; ++i) {
      out[i] = static_cast<Acc>(Widen(a[i])) * wa + static_cast<Acc>(Widen(b[i])) * wb;
    }
    return;
  }
  for (std::int64_t i = 0; i < inner; ++i) {
    Acc sum = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      sum += static_cast<Acc>(Widen(base[index[t] * inner + i])) * static_cast<Acc>(weight[t]);
    }
    out[i] = sum;
  }
}

template <typename T, typename Acc>
T Finish(Acc v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != Acc(0);
  } else if constexpr (std::is_integral_v<T>) {
    const double r = std::nearbyint(static_cast<double>(v));
    if (r <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    if (r >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
    return static_cast<T>(r);
  } else {
    return Narrow<T>(static_cast<ComputeOf<T>>(v));
  }
}

class Resize final : public OpKernel {
 public:
  explicit Resize(OpKernelInfo& info)
      : version_(info.node().SinceVersion()),
        is_upsample_(info.node().OpType() == "Upsample"),
        axes_(info.attributes().Ints("axes")),
        outside_(info.attributes().Float("extrapolation_value", 0.0f)),
        policy_(info.attributes().String("keep_aspect_ratio_policy", "stretch")) {
    const Attributes& a = info.attributes();
    const std::string mode = a.String("mode", "nearest");
    if (mode == "nearest") {
      rules_.mode = Mode::kNearest;
    } else if (mode == "linear" || mode == "bilinear") {
      rules_.mode = Mode::kLinear;
    } else if (mode == "cubic") {
      rules_.mode = Mode::kCubic;
    } else {
      info.Fail("mode is '" + mode + "'");
    }
    if (is_upsample_ || version_ == 10) {
      rules_.coordinates = Coordinates::kAsymmetric;
      rules_.nearest = is_upsample_ ? Nearest::kFloor : Nearest::kCeilIfSmaller;
    } else {
      const std::string coordinates = a.String("coordinate_transformation_mode", "half_pixel");
      const std::string nearest = a.String("nearest_mode", "round_prefer_floor");
      if (!ParseCoordinates(coordinates, &rules_.coordinates))
        info.Fail("coordinate_transformation_mode is '" + coordinates + "'");
      if (!ParseNearest(nearest, &rules_.nearest)) info.Fail("nearest_mode is '" + nearest + "'");
    }
    rules_.cubic_a = a.Float("cubic_coeff_a", -0.75f);
    rules_.antialias = a.Int("antialias", 0) != 0;
    rules_.exclude_outside = a.Int("exclude_outside", 0) != 0;
    const auto scales = a.Floats("scales");
    scales_.assign(scales.begin(), scales.end());
    if (is_upsample_ && version_ < 7) {
      scales_ = {1, 1, a.Float("height_scale", 1), a.Float("width_scale", 1)};
    }
    if (policy_ != "stretch" && policy_ != "not_larger" && policy_ != "not_smaller")
      info.Fail("keep_aspect_ratio_policy is '" + policy_ + "'");
  }

  void Prepare(PrepareContext& context) const override {
    bool known = false;
    const auto out = context.output_dims(0, &known);
    const auto in = context.input_dims(0);
    if (!known || out.size() != in.size() || in.size() > kMaxRank) return;
    // Enough for any table and step that these sizes can need.
    Job job;
    job.rank = in.size();
    for (std::size_t i = 0; i < in.size(); ++i) {
      job.axis[i].in = in[i];
      job.axis[i].out = out[i];
      job.axis[i].scale = in[i] > 0 ? static_cast<double>(out[i]) / static_cast<double>(in[i]) : 1;
      // The true scale may differ: tables for every axis, and taps for a smaller one.
      job.axis[i].scale *= rules_.antialias ? 0.5 : 0.999;
    }
    Measure(rules_, &job);
    context.SetScratch(job.table_bytes + StepBytes(job) + 1024);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() > kMaxRank)
      context.Fail("rank " + std::to_string(x.rank()) + " is more than " +
                   std::to_string(kMaxRank));
    Job job;
    job.rank = x.rank();
    Plan(context, x, &job);
    Dims dims;
    for (std::size_t i = 0; i < job.rank; ++i) dims.push_back(job.axis[i].out);
    Tensor& y = context.Output(0, dims);
    if (y.size() == 0) return;
    if (x.size() == 0) context.Fail("cannot resize the empty input " + x.Describe());
    Measure(rules_, &job);
    // Without dims at binding no scratch was asked for.
    std::vector<std::byte> own;
    auto* memory = static_cast<std::byte*>(context.scratch());
    if (memory == nullptr) {
      own.resize(job.table_bytes + StepBytes(job) + 64);
      memory = own.data() + (64 - reinterpret_cast<std::uintptr_t>(own.data()) % 64);
    }
    memory = MakeTables(&job, memory);
    if (rules_.mode == Mode::kNearest) return RunNearest(context, job, x, y);
    DispatchType(x.type(), NumericAndBoolTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      constexpr bool narrow = std::is_same_v<T, float> || kIsHalf<T> || sizeof(T) <= 2;
      RunWeighted<T, std::conditional_t<narrow, float, double>>(context, job, x, y, memory);
    });
  }

 private:
  static std::size_t StepBytes(const Job& job) {
    return 2 * RoundUp(static_cast<std::size_t>(job.largest_step) * sizeof(double));
  }

  std::byte* MakeTables(Job* job, std::byte* memory) const {
    for (std::size_t i = 0; i < job->rank; ++i) {
      if (!job->changes[i]) continue;
      const auto entries = static_cast<std::size_t>(job->axis[i].out * job->taps[i]);
      job->index[i] = reinterpret_cast<std::int32_t*>(memory);
      memory += RoundUp(entries * sizeof(std::int32_t));
      job->weight[i] = reinterpret_cast<float*>(memory);
      memory += RoundUp(entries * sizeof(float));
      FillTable(rules_, job->axis[i], job->index[i], job->weight[i]);
    }
    return memory;
  }

  // ---- sizes

  void Plan(const OpKernelContext& context, const Tensor& x, Job* job) const {
    for (std::size_t i = 0; i < job->rank; ++i) {
      job->axis[i].in = job->axis[i].out = x.dim(i);
      job->axis[i].length = static_cast<double>(x.dim(i));
    }
    InlineVector<std::size_t, kMaxRank> axes;
    for (std::int64_t a : axes_)
      axes.push_back(static_cast<std::size_t>(NormalizeAxis(context, a, job->rank)));
    if (axes_.empty()) {
      for (std::size_t i = 0; i < job->rank; ++i) axes.push_back(i);
    }
    const bool with_roi = !is_upsample_ && version_ >= 11;
    const std::size_t scales_at = with_roi ? 2 : 1;
    const Tensor* sizes = with_roi ? context.OptionalInput(3) : nullptr;
    const Tensor* scales = context.OptionalInput(scales_at);
    if (sizes != nullptr && sizes->size() == 0) sizes = nullptr;
    if (scales != nullptr && scales->size() == 0) scales = nullptr;
    if (sizes != nullptr) {
      FromSizes(context, *sizes, axes, job);
    } else {
      FromScales(context, scales, axes, job);
    }
    if (rules_.coordinates == Coordinates::kTfCropAndResize) ReadRoi(context, axes, job);
  }

  template <typename AxisList>
  void FromSizes(const OpKernelContext& context, const Tensor& sizes, const AxisList& axes,
                 Job* job) const {
    Dims wanted;
    if (!ReadIntegers(sizes, &wanted) || wanted.size() != axes.size()) {
      context.Fail("sizes are " + sizes.Describe() + " for " + std::to_string(axes.size()) +
                   " axes");
    }
    double common = policy_ == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (wanted[k] < 0) context.Fail("sizes are " + DimsToString(wanted));
      const double ratio =
          static_cast<double>(wanted[k]) / static_cast<double>(job->axis[axes[k]].in);
      common = policy_ == "not_larger" ? std::min(common, ratio) : std::max(common, ratio);
    }
    for (std::size_t k = 0; k < axes.size(); ++k) {
      Axis& axis = job->axis[axes[k]];
      if (policy_ == "stretch") {
        axis.out = wanted[k];
        axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
        axis.length = static_cast<double>(axis.out);
      } else {
        axis.out =
            static_cast<std::int64_t>(std::floor(common * static_cast<double>(axis.in) + 0.5));
        axis.scale = common;
        axis.length = common * static_cast<double>(axis.in);
        axis.from_scale = true;
      }
    }
  }

  template <typename AxisList>
  void FromScales(const OpKernelContext& context, const Tensor* input, const AxisList& axes,
                  Job* job) const {
    const std::size_t count =
        input != nullptr ? static_cast<std::size_t>(input->size()) : scales_.size();
    if (count != axes.size())
      context.Fail("got " + std::to_string(count) + " scales for " + std::to_string(axes.size()) +
                   " axes and no sizes");
    const float* scales = input != nullptr ? input->data<float>() : scales_.data();
    for (std::size_t k = 0; k < count; ++k) {
      Axis& axis = job->axis[axes[k]];
      const double scale = scales[k];
      const double length = scale * static_cast<double>(axis.in);
      if (!(scale > 0) || !(length < 2147483648.0))
        context.Fail("scale " + std::to_string(scale) + " of axis " + std::to_string(axes[k]));
      axis.scale = scale;
      axis.length = length;
      axis.out = static_cast<std::int64_t>(std::floor(length));
      axis.from_scale = true;
    }
  }

  template <typename AxisList>
  static void ReadRoi(const OpKernelContext& context, const AxisList& axes, Job* job) {
    const Tensor& roi = context.Input(1);
    if (roi.size() != static_cast<std::int64_t>(2 * axes.size()))
      context.Fail("roi is " + roi.Describe());
    for (std::size_t k = 0; k < axes.size(); ++k) {
      DispatchType(roi.type(), FloatTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        job->axis[axes[k]].roi_start = static_cast<double>(Widen(roi.data<T>()[k]));
        job->axis[axes[k]].roi_end = static_cast<double>(Widen(roi.data<T>()[axes.size() + k]));
      });
    }
  }

  // ---- work

  void RunNearest(OpKernelContext& context, const Job& job, const Tensor& x, Tensor& y) const {
    const ElementCopy copy(x.type());
    const std::size_t last = job.rank == 0 ? 0 : job.rank - 1;
    const std::int64_t columns = job.rank == 0 ? 1 : job.axis[last].out;
    const std::int64_t in_columns = job.rank == 0 ? 1 : job.axis[last].in;
    const bool row_copy = job.rank == 0 || !job.changes[last];
    const bool doubles = !row_copy && copy.bytes == 4 && Doubles(job.index[last], columns);
    ParallelItems(context, y.size() / columns, 5 + 0.4 * static_cast<double>(columns),
                  [&](std::int64_t begin, std::int64_t end) {
                    std::int64_t previous = -1;  // the source of the row before
                    for (std::int64_t r = begin; r < end; ++r) {
                      std::int64_t rest = r, source = 0, pitch = in_columns;
                      bool outside = false;
                      for (std::size_t i = last; i-- > 0;) {
                        const std::int64_t o = rest % job.axis[i].out;
                        rest /= job.axis[i].out;
                        const std::int64_t at = job.changes[i] ? job.index[i][o] : o;
                        outside = outside || at < 0;
                        source += at * pitch;
                        pitch *= job.axis[i].in;
                      }
                      if (outside) {
                        FillOutside(y, r * columns, columns);
                        source = -1;
                      } else if (source == previous) {
                        copy.At(y.raw_mutable(), r * columns, y.raw(), (r - 1) * columns, columns);
                      } else if (doubles) {
                        DoubleRow(static_cast<const std::uint32_t*>(x.raw()) + source,
                                  static_cast<std::uint32_t*>(y.raw_mutable()) + r * columns,
                                  columns / 2);
                      } else if (row_copy) {
                        copy.At(y.raw_mutable(), r * columns, x.raw(), source, columns);
                      } else {
                        GatherRow(copy, x, source, job.index[last], y, r * columns, columns);
                      }
                      previous = source;
                    }
                  });
  }

  // Twice the size: every entry two times.
  static bool Doubles(const std::int32_t* index, std::int64_t count) {
    if (count % 2 != 0) return false;
    for (std::int64_t o = 0; o < count; ++o) {
      if (index[o] != o / 2) return false;
    }
    return true;
  }
  static void DoubleRow(const std::uint32_t* from, std::uint32_t* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[2 * i] = to[2 * i + 1] = from[i];
  }

  void FillOutside(Tensor& y, std::int64_t at, std::int64_t count) const {
    DispatchType(y.type(), NumericAndBoolTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::fill_n(static_cast<T*>(y.raw_mutable()) + at, count, Finish<T>(outside_));
    });
  }

  template <typename E>
  static void GatherAs(const void* from, const std::int32_t* index, void* to, std::int64_t count) {
    const E* row = static_cast<const E*>(from);
    E* out = static_cast<E*>(to);
    for (std::int64_t o = 0; o < count; ++o) out[o] = row[index[o] < 0 ? 0 : index[o]];
  }

  void GatherRow(const ElementCopy& copy, const Tensor& x, std::int64_t source,
                 const std::int32_t* index, Tensor& y, std::int64_t at, std::int64_t count) const {
    const auto* from =
        static_cast<const std::byte*>(x.raw()) + static_cast<std::size_t>(source) * copy.bytes;
    auto* to = static_cast<std::byte*>(y.raw_mutable()) + static_cast<std::size_t>(at) * copy.bytes;
    if (copy.is_string) {
      for (std::int64_t o = 0; o < count; ++o) copy.At(to, o, from, std::max(0, index[o]), 1);
    } else if (copy.bytes == 4) {
      GatherAs<std::uint32_t>(from, index, to, count);
    } else if (copy.bytes == 1) {
      GatherAs<std::uint8_t>(from, index, to, count);
    } else if (copy.bytes == 2) {
      GatherAs<std::uint16_t>(from, index, to, count);
    } else if (copy.bytes == 8) {
      GatherAs<std::uint64_t>(from, index, to, count);
    } else {
      for (std::int64_t o = 0; o < count; ++o) copy.At(to, o, from, std::max(0, index[o]), 1);
    }
    if (rules_.coordinates != Coordinates::kTfCropAndResize) return;
    for (std::int64_t o = 0; o < count; ++o) {
      if (index[o] < 0) FillOutside(y, at + o, 1);
    }
  }

  // One pass per changing axis, outermost first; the last one writes the output.
  template <typename T, typename Acc>
  void RunWeighted(OpKernelContext& context, const Job& job, const Tensor& x, Tensor& y,
                   std::byte* memory) const {
    Acc* steps[2] = {
        reinterpret_cast<Acc*>(memory),
        reinterpret_cast<Acc*>(
            memory + RoundUp(static_cast<std::size_t>(job.largest_step) * sizeof(double)))};
    InlineVector<std::size_t, kMaxRank> order;
    for (std::size_t i = 0; i < job.rank; ++i) {
      if (job.changes[i]) order.push_back(i);
    }
    if (order.empty()) return CopyTensor(context, x, y);
    Dims dims(x.dims());
    const void* from = x.raw();
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t axis = order[k];
      const std::int64_t outer = Product(std::span<const std::int64_t>(dims).first(axis));
      const std::int64_t inner = Product(std::span<const std::int64_t>(dims).subspan(axis + 1));
      const bool last = k + 1 == order.size();
      Acc* to = last && std::is_same_v<T, Acc> ? static_cast<Acc*>(y.raw_mutable()) : steps[k % 2];
      if (k == 0) {
        Pass<T, Acc>(context, job, axis, outer, inner, static_cast<const T*>(from), to);
      } else {
        Pass<Acc, Acc>(context, job, axis, outer, inner, static_cast<const Acc*>(from), to);
      }
      from = to;
      dims[axis] = job.axis[axis].out;
    }
    if constexpr (!std::is_same_v<T, Acc>) {
      const Acc* values = static_cast<const Acc*>(from);
      T* out = static_cast<T*>(y.raw_mutable());
      ParallelItems(context, y.size(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) out[i] = Finish<T>(values[i]);
      });
    }
  }

  template <typename In, typename Acc>
  void Pass(OpKernelContext& context, const Job& job, std::size_t axis, std::int64_t outer,
            std::int64_t inner, const In* from, Acc* to) const {
    const std::int64_t in = job.axis[axis].in, out = job.axis[axis].out, taps = job.taps[axis];
    const std::int32_t* index = job.index[axis];
    const float* weight = job.weight[axis];
    const auto outside = static_cast<Acc>(outside_);
    if (inner == 1) {
      ParallelItems(context, outer, 0.8 * static_cast<double>(out * taps),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        InnerRow(from + r * in, to + r * out, out, taps, index, weight, outside);
                      }
                    });
      return;
    }
    ParallelItems(context, outer * out, 0.25 * static_cast<double>(inner * taps),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) {
                      const std::int64_t o = r % out;
                      OuterLine(from + r / out * in * inner, to + r * inner, inner, taps,
                                index + o * taps, weight + o * taps, outside);
                    }
                  });
  }

  int version_;
  bool is_upsample_;
  Rules rules_;
  Dims axes_;
  std::vector<float> scales_;
  float outside_;
  std::string policy_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet movable = types::kNumeric | types::kBool | types::kString;
  registry.Register(KernelCreateInfo::For("Upsample").Since(1, 8).Input(0, movable).Make<Resize>());
  registry.Register(
      KernelCreateInfo::For("Upsample").Since(9).Input(0, movable).HostInput(1).Make<Resize>());
  registry.Register(
      KernelCreateInfo::For("Resize").Since(10, 10).Input(0, movable).HostInput(1).Make<Resize>());
  registry.Register(KernelCreateInfo::For("Resize")
                        .Since(11)
                        .Input(0, movable)
                        .HostInput(1)
                        .HostInput(2)
                        .HostInput(3)
                        .Make<Resize>());
}

}  // namespace switchyard::cpu::kernels::resize
