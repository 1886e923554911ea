// com.microsoft MatMulNBits: a product with weights of 2 to 8 bits, quantised by blocks along K.
// Few rows take dot products with the codes; more rows take matrix products with columns expanded
// in cache. Widths other than 4 and 8, and g_idx, always expand. With an accuracy_level of 4 the
// rows of A are quantised to 8 bits by blocks, however many there are; the other levels compute in
// float.

#include "providers/cpu/kernels/common/typed_kernel.h"
#include "providers/cpu/kernels/common/wide_input.h"
#include "providers/cpu/math/vec_nbits.h"

namespace switchyard::cpu::kernels::matmul_nbits {
namespace {

using math::NBitsWeight;

// Values of `bits` bits each, low bits first.
std::uint32_t CodeAt(const std::uint8_t* bytes, std::int64_t index, int bits) {
  const std::int64_t bit = index * bits;
  std::uint32_t word = bytes[bit / 8];
  if (bit % 8 + bits > 8) word |= std::uint32_t{bytes[bit / 8 + 1]} << 8;
  return word >> (bit % 8) & ((1u << bits) - 1);
}

// Scales or zero points as one float per block and column; zero points may be codes.
void Unpack(const Tensor& tensor, std::int64_t columns, std::int64_t blocks, int bits, float* to) {
  if (tensor.type() == DataType::kUint8) {
    const std::int64_t pitch = (blocks * bits + 7) / 8;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::uint8_t* codes = tensor.data<std::uint8_t>() + c * pitch;
      for (std::int64_t b = 0; b < blocks; ++b)
        to[c * blocks + b] = static_cast<float>(CodeAt(codes, b, bits));
    }
    return;
  }
  DispatchType(tensor.type(), TypeList<float, Float16, BFloat16>{}, [&](auto tag) {
    using S = typename decltype(tag)::type;
    const S* from = tensor.data<S>();
    for (std::int64_t i = 0; i < columns * blocks; ++i) to[i] = Widen(from[i]);
  });
}

template <typename T>
class MatMulNBits final : public OpKernel {
  enum : std::size_t { kA, kB, kScales, kZeros, kGroups, kBias };
  static constexpr std::int64_t kFewRows = 4;
  static constexpr std::int64_t kColumnsAtOnce = 64;

  struct State {
    PodDims out;
    std::int64_t rows;
    math::GemmPlan plan, tail_plan;
    std::size_t worker_at, worker_bytes, expand_at, a_at, out_at, bias_at, scales_at, zeros_at,
        arranged_at, sums_at, values_at, row_scales_at, real_at;
  };

 public:
  explicit MatMulNBits(OpKernelInfo& info)
      : k_(info.attributes().Int("K", 0)),
        n_(info.attributes().Int("N", 0)),
        bits_(static_cast<int>(info.attributes().Int("bits", 4))),
        block_(info.attributes().Int("block_size", 0)),
        level_(IsaOf(info)),
        ops_(math::GemmFor(level_)),
        widening_(level_) {
    if (k_ < 1 || n_ < 1 || bits_ < 2 || bits_ > 8 || block_ < 16 || (block_ & (block_ - 1)) != 0) {
      info.Fail("K " + std::to_string(k_) + ", N " + std::to_string(n_) + ", bits " +
                std::to_string(bits_) + ", block_size " + std::to_string(block_));
    }
    if (info.attributes().Int("weight_prepacked", 0) != 0)
      info.Fail("weights packed for a device", ErrorCode::kNotImplemented);
    blocks_ = (k_ + block_ - 1) / block_;
    if (!info.has_input(kZeros)) {
      middle_.assign(static_cast<std::size_t>(blocks_), static_cast<float>(1 << (bits_ - 1)));
    }
    direct_ = (bits_ == 4 || bits_ == 8) && !info.has_input(kGroups);
    integer_ = direct_ && info.attributes().Int("accuracy_level", 0) == 4;
    if (info.constant(kScales) != nullptr) {
      packed_scales_ = info.RequestPacked(kScales, FloatsOf("scales", false));
    }
    if (info.has_input(kZeros) && info.constant(kZeros) != nullptr)
      packed_zeros_ = info.RequestPacked(kZeros, FloatsOf("zeros", true));
  }

  std::size_t state_bytes() const override { return sizeof(State); }

  void Prepare(PrepareContext& context) const override {
    auto& s = context.State<State>();
    s = State();
    Dims out(context.input_dims(kA));
    if (out.empty() || out.back() != k_)
      context.Fail("A " + DimsToString(out) + ", K " + std::to_string(k_));
    CheckSizes(context);
    s.rows = Product(out) / k_;
    out.back() = n_;
    StoreDims(context, out, &s.out);
    const auto plan = [&](std::int64_t columns) {
      return ops_.plan(
          {s.rows, columns, k_, 1, math::MatrixForm::kRowMajor, math::MatrixForm::kTransposed});
    };
    s.plan = plan(std::min(kColumnsAtOnce, n_));
    s.tail_plan = plan(n_ % kColumnsAtOnce);
    const bool expand = !direct_ || s.rows > kFewRows;
    s.worker_bytes =
        ScratchLayout::Rounded(std::max(s.plan.scratch_bytes, s.tail_plan.scratch_bytes));
    s.expand_at = s.worker_bytes;
    s.worker_bytes += ScratchLayout::Rounded(
        static_cast<std::size_t>(blocks_ * block_ * kColumnsAtOnce) * sizeof(float));
    ScratchLayout layout;
    s.worker_at = layout.ReserveBytes(
        expand ? s.worker_bytes * static_cast<std::size_t>(context.team_size()) : 0);
    s.a_at = layout.Reserve<float>(Widening<T>::Room(s.rows * k_));
    s.out_at = layout.Reserve<float>(Widening<T>::Room(s.rows * n_));
    s.bias_at = layout.Reserve<float>(Widening<T>::Room(context.has_input(kBias) ? n_ : 0));
    s.scales_at = layout.Reserve<float>(packed_scales_ < 0 ? n_ * blocks_ : 0);
    s.zeros_at =
        layout.Reserve<float>(packed_zeros_ < 0 && context.has_input(kZeros) ? n_ * blocks_ : 0);
    // Expanded products need the integers of a row only while a worker rounds it.
    const std::int64_t kept = expand ? context.team_size() : s.rows;
    s.arranged_at = layout.Reserve<float>(expand || integer_ ? 0 : s.rows * blocks_ * block_);
    s.sums_at = layout.Reserve<float>(expand && !integer_ ? 0 : kept * blocks_);
    s.values_at = layout.Reserve<std::int16_t>(integer_ ? kept * blocks_ * block_ : 0);
    s.row_scales_at = layout.Reserve<float>(integer_ ? kept * blocks_ : 0);
    s.real_at = layout.Reserve<float>(integer_ && expand ? s.rows * k_ : 0);
    context.SetScratch(layout.bytes());
  }

  void Compute(OpKernelContext& context) const override {
    const State& s = context.State<State>();
    auto* scratch = static_cast<std::byte*>(context.scratch());
    Tensor& y = context.Output(0, s.out.span());
    if (y.size() == 0) return;
    const float* a = widening_.Read(context, context.Input(kA), scratch + s.a_at);
    const float* bias = widening_.ReadOptional(context, kBias, scratch + s.bias_at);
    float* out = Widening<T>::Target(y, scratch + s.out_at);
    NBitsWeight w;
    w.level = level_;
    w.bits = bits_;
    w.blocks = blocks_;
    w.block = block_;
    const Tensor& codes = context.Input(kB);
    w.codes = codes.data<std::uint8_t>();
    w.scales = Floats(context, kScales, packed_scales_, scratch + s.scales_at);
    w.zeros = middle_.data();
    if (context.has_input(kZeros)) {
      w.zeros = Floats(context, kZeros, packed_zeros_, scratch + s.zeros_at);
      w.zeros_pitch = blocks_;
    }
    if (direct_ && s.rows <= kFewRows) {
      Dots(context, s, w, a, bias, scratch, out);
    } else {
      if (integer_) a = Rounded(context, s, w, a, scratch);
      Products(context, s, w, a, bias, scratch, out);
    }
    widening_.Finish(context, out, y);
  }

  std::string Variant() const override {
    return integer_ ? "8-bit rows" : direct_ ? "codes in place" : "expanded columns";
  }

 private:
  void CheckSizes(const PrepareContext& context) const {
    const auto expect = [&](std::size_t i, std::int64_t size) {
      if (!context.has_input(i)) return;
      if (Product(context.input_dims(i)) != size) {
        context.Fail("input " + std::to_string(i) + " is " + DimsToString(context.input_dims(i)) +
                     ", expected " + std::to_string(size) + " elements");
      }
    };
    expect(kB, n_ * blocks_ * block_ * bits_ / 8);
    expect(kScales, n_ * blocks_);
    if (context.has_input(kZeros)) {
      expect(kZeros, context.input_elem(kZeros) == DataType::kUint8
                         ? n_ * ((blocks_ * bits_ + 7) / 8)
                         : n_ * blocks_);
    }
    expect(kGroups, k_);
    expect(kBias, n_);
  }

  PackedForm FloatsOf(const char* what, bool packed_codes) const {
    PackedForm form;
    form.id = std::string("nbits.") + what + "." + std::to_string(packed_codes ? bits_ : 0) + "." +
              std::to_string(blocks_);
    form.bytes = static_cast<std::size_t>(n_ * blocks_) * sizeof(float);
    form.parts = 1;
    form.pack = [n = n_, blocks = blocks_, bits = bits_](const Tensor& dense, std::int64_t,
                                                         std::int64_t, std::byte* to) {
      Unpack(dense, n, blocks, bits, reinterpret_cast<float*>(to));
    };
    return form;
  }

  const float* Floats(OpKernelContext& context, std::size_t input, int packed,
                      std::byte* room) const {
    if (packed >= 0) return reinterpret_cast<const float*>(context.Packed(packed));
    auto* to = reinterpret_cast<float*>(room);
    Unpack(context.Input(input), n_, blocks_, bits_, to);
    return to;
  }

  // One row's room: integers, their scales, their sums.
  struct Row {
    std::int16_t* values;
    float *scales, *sums, *arranged;
  };
  Row RowAt(const State& s, std::byte* scratch, std::int64_t r) const {
    return {reinterpret_cast<std::int16_t*>(scratch + s.values_at) + r * blocks_ * block_,
            reinterpret_cast<float*>(scratch + s.row_scales_at) + r * blocks_,
            reinterpret_cast<float*>(scratch + s.sums_at) + r * blocks_,
            reinterpret_cast<float*>(scratch + s.arranged_at) + r * blocks_ * block_};
  }

  // A as its 8-bit blocks say it.
  const float* Rounded(OpKernelContext& context, const State& s, const NBitsWeight& w,
                       const float* a, std::byte* scratch) const {
    auto* real = reinterpret_cast<float*>(scratch + s.real_at);
    context.team().ParallelFor(s.rows, [&](std::int64_t r, int worker) {
      const Row room = RowAt(s, scratch, worker);
      math::NBitsQuantize(w, a + r * k_, k_, room.values, room.scales, room.sums, real + r * k_);
    });
    return real;
  }

  void Dots(OpKernelContext& context, const State& s, const NBitsWeight& w, const float* a,
            const float* bias, std::byte* scratch, float* out) const {
    for (std::int64_t r = 0; r < s.rows; ++r) {
      const Row row = RowAt(s, scratch, r);
      const float* from = a + r * k_;
      if (integer_) {
        math::NBitsQuantize(w, from, k_, row.values, row.scales, row.sums, nullptr);
      } else {
        math::NBitsArrange(w, from, k_, row.arranged, row.sums);
      }
    }
    const double ns = (integer_ ? 0.05 : 0.1) * static_cast<double>(s.rows * k_);
    ParallelItems(context, (n_ + 15) / 16, 16 * ns, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t first = begin * 16, last = std::min(n_, end * 16);
      for (std::int64_t r = 0; r < s.rows; ++r) {
        const Row row = RowAt(s, scratch, r);
        float* to = out + r * n_;
        if (integer_) {
          math::NBitsIntegerDot(w, row.values, row.scales, row.sums, first, last, to);
        } else {
          math::NBitsDot(w, row.arranged, row.sums, first, last, to);
        }
        if (bias == nullptr) continue;
        for (std::int64_t c = first; c < last; ++c) to[c] += bias[c];
      }
    });
  }

  void Products(OpKernelContext& context, const State& s, const NBitsWeight& w, const float* a,
                const float* bias, std::byte* scratch, float* out) const {
    const Tensor* groups = context.OptionalInput(kGroups);
    const std::int64_t chunks = (n_ + kColumnsAtOnce - 1) / kColumnsAtOnce;
    if (groups != nullptr) {
      for (const std::int32_t g : groups->values<std::int32_t>()) {
        if (g < 0 || g >= blocks_)
          context.Fail("g_idx holds " + std::to_string(g) + " of " + std::to_string(blocks_));
      }
    }
    context.team().ParallelFor(chunks, [&](std::int64_t chunk, int worker) {
      std::byte* own = scratch + s.worker_at + s.worker_bytes * static_cast<std::size_t>(worker);
      auto* columns = reinterpret_cast<float*>(own + s.expand_at);
      const std::int64_t first = chunk * kColumnsAtOnce;
      const std::int64_t count = std::min(kColumnsAtOnce, n_ - first);
      for (std::int64_t c = 0; c < count; ++c)
        Expand(w, groups, first + c, columns + c * blocks_ * block_);
      math::Epilogue epilogue;
      epilogue.bias_col = bias != nullptr ? bias + first : nullptr;
      math::GemmArgs args;
      args.a = a;
      args.lda = k_;
      args.b = columns;
      args.ldb = blocks_ * block_;
      args.c = out + first;
      args.ldc = n_;
      args.epilogue = &epilogue;
      const math::GemmPlan& plan = count == std::min(kColumnsAtOnce, n_) ? s.plan : s.tail_plan;
      for (std::int64_t part = 0; part < plan.chunks; ++part) ops_.run_chunk(plan, args, part, own);
    });
  }

  void Expand(const NBitsWeight& w, const Tensor* groups, std::int64_t column, float* to) const {
    if (direct_) return math::NBitsExpand(w, column, to);
    const std::int64_t blob = block_ * bits_ / 8;
    const float* scales = w.scales + column * blocks_;
    const float* zeros = w.zeros + column * w.zeros_pitch;
    for (std::int64_t k = 0; k < k_; ++k) {
      const std::int64_t b = k / block_;
      const std::int64_t g = groups != nullptr ? groups->data<std::int32_t>()[k] : b;
      const auto code =
          static_cast<float>(CodeAt(w.codes + (column * blocks_ + b) * blob, k % block_, bits_));
      to[k] = (code - zeros[g]) * scales[g];
    }
  }

  std::int64_t k_, n_;
  int bits_;
  std::int64_t block_, blocks_ = 0;
  bool direct_ = false, integer_ = false;
  std::vector<float> middle_;  // the zero points where none are given, one column of them
  math::IsaLevel level_;
  const math::GemmOps& ops_;
  Widening<T> widening_;
  int packed_scales_ = -1, packed_zeros_ = -1;
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(ByFirstInput<MatMulNBits>(KernelCreateInfo::For("MatMulNBits", "com.microsoft"),
                                              TypeList<float, Float16, BFloat16>{}));
}

}  // namespace switchyard::cpu::kernels::matmul_nbits
