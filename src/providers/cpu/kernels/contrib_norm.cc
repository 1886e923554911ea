// com.microsoft: SkipLayerNormalization, SkipSimplifiedLayerNormalization,
// EmbedLayerNormalization.

#include <atomic>

#include "providers/cpu/kernels/common/product.h"
#include "providers/cpu/math/vec_norm.h"

namespace switchyard::cpu::kernels::contrib_norm {
namespace {

using math::ElemType;

void* OutputOrNull(OpKernelContext& context, std::size_t i, std::span<const std::int64_t> dims) {
  return context.has_output(i) ? context.Output(i, dims).raw_mutable() : nullptr;
}

void RunRows(OpKernelContext& context, const math::LayerNormArgs& args, std::int64_t rows) {
  ParallelItems(
      context, rows, 0.6 * static_cast<double>(args.width),
      [&](std::int64_t begin, std::int64_t end) { math::RunLayerNorm(args, begin, end); });
}

void ExpectWidth(const OpKernelContext& context, std::size_t i, std::int64_t width) {
  const Tensor* t = context.OptionalInput(i);
  if (t != nullptr && (t->rank() != 1 || t->size() != width)) {
    context.Fail("input " + std::to_string(i) + " is " + t->Describe() + ", expected " +
                 std::to_string(width) + " elements");
  }
}

const void* RawOrNull(const OpKernelContext& context, std::size_t i) {
  const Tensor* t = context.OptionalInput(i);
  return t != nullptr ? t->raw() : nullptr;
}

class SkipNorm final : public OpKernel {
 public:
  explicit SkipNorm(OpKernelInfo& info)
      : rms_(info.node().OpType() == "SkipSimplifiedLayerNormalization"),
        epsilon_(info.attributes().Float("epsilon", 1e-12f)),
        level_(IsaOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& skip = context.Input(1);
    const std::size_t bias_at = rms_ ? 3 : 4;
    if (x.rank() < 2 || skip.rank() < 2) {
      context.Fail("input " + x.Describe() + " and skip " + skip.Describe());
    }
    const std::int64_t width = x.dim(x.rank() - 1);
    for (std::size_t i = 2; i <= bias_at; ++i) ExpectWidth(context, i, width);
    // The skip may lack the batch dim, or have one of 1.
    const std::int64_t rows = width > 0 ? x.size() / width : 0;
    const std::int64_t skip_rows = width > 0 ? skip.size() / width : 0;
    if (skip.dim(skip.rank() - 1) != width || (rows > 0 && skip_rows == 0) ||
        (rows > 0 && skip_rows != rows && skip_rows != x.dim(x.rank() - 2))) {
      context.Fail("skip " + skip.Describe() + " for input " + x.Describe());
    }
    Dims statistics(x.dims());
    statistics.back() = 1;
    math::LayerNormArgs args;
    args.type = static_cast<ElemType>(x.type());
    args.level = level_;
    args.width = width;
    args.epsilon = epsilon_;
    args.rms = rms_;
    args.in = x.raw();
    args.skip = skip.raw();
    args.skip_rows = skip_rows;
    args.scale = context.Input(2).raw();
    args.bias = rms_ ? nullptr : RawOrNull(context, 3);
    args.skip_bias = RawOrNull(context, bias_at);
    args.out = context.Output(0, x.dims()).raw_mutable();
    args.mean = OutputOrNull(context, 1, statistics);
    args.inv_std = OutputOrNull(context, 2, statistics);
    args.sum = OutputOrNull(context, 3, x.dims());
    if (x.size() != 0) RunRows(context, args, rows);
  }

 private:
  bool rms_;
  float epsilon_;
  math::IsaLevel level_;
};

class EmbedNorm final : public OpKernel {
  enum : std::size_t { kIds, kSegments, kWords, kPositions, kKinds, kGamma, kBeta, kMask, kPlaces };

 public:
  explicit EmbedNorm(OpKernelInfo& info)
      : epsilon_(info.attributes().Float("epsilon", 1e-12f)),
        mask_index_type_(info.attributes().Int("mask_index_type", 1)),
        level_(IsaOf(info)) {}

  void Prepare(PrepareContext& context) const override {
    const auto words = context.input_dims(kWords);
    const std::int64_t width = words.empty() ? 0 : words.back();
    context.SetScratch(static_cast<std::size_t>(Product(context.input_dims(kIds)) * width) *
                       sizeof(float));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& ids = context.Input(kIds);
    const Tensor& words = context.Input(kWords);
    if (ids.rank() != 2 || words.rank() != 2) {
      context.Fail("input_ids " + ids.Describe() + ", word_embedding " + words.Describe());
    }
    const std::int64_t width = words.dim(1);
    ExpectWidth(context, kGamma, width);
    ExpectWidth(context, kBeta, width);
    const std::int64_t dims[] = {ids.dim(0), ids.dim(1), width};
    Tensor& out = context.Output(0, dims);
    math::LayerNormArgs args;
    args.type = static_cast<ElemType>(words.type());
    args.level = level_;
    args.width = width;
    args.epsilon = epsilon_;
    args.scale = context.Input(kGamma).raw();
    args.bias = RawOrNull(context, kBeta);
    args.out = out.raw_mutable();
    void* sum = OutputOrNull(context, 2, dims);
    if (sum == nullptr) sum = context.scratch();
    args.in = sum;
    DispatchType(words.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Gather<T>(context, static_cast<T*>(sum));
    });
    if (out.size() != 0) RunRows(context, args, ids.size());
    if (context.has_output(1)) StoreLengths(context);
  }

 private:
  struct Table {
    const Tensor* rows;
    const std::int32_t* index;  // nullptr: the place in the sequence
    std::int64_t period;        // the index repeats after so many tokens
  };

  // The row of one table for a token, or -1.
  static std::int64_t RowOf(const Table& table, std::int64_t token) {
    const std::int64_t at = token % table.period;
    const std::int64_t row = table.index != nullptr ? table.index[at] : at;
    return row >= 0 && row < table.rows->dim(0) ? row : -1;
  }

  Table MakeTable(const OpKernelContext& context, std::size_t rows, std::size_t index) const {
    const Tensor& ids = context.Input(kIds);
    Table table{&context.Input(rows), nullptr, ids.dim(1)};
    if (table.rows->rank() != 2 || table.rows->dim(1) != context.Input(kWords).dim(1))
      context.Fail("input " + std::to_string(rows) + " is " + table.rows->Describe());
    if (const Tensor* given = context.OptionalInput(index); given != nullptr) {
      if (given->size() != ids.size() && given->size() != ids.dim(1))
        context.Fail("input " + std::to_string(index) + " is " + given->Describe() +
                     " for input_ids " + ids.Describe());
      table.index = given->data<std::int32_t>();
      table.period = given->size();
    }
    return table;
  }

  template <typename T>
  void Gather(OpKernelContext& context, T* sum) const {
    const std::int64_t tokens = context.Input(kIds).size();
    const std::int64_t width = context.Input(kWords).dim(1);
    if (tokens == 0) return;
    Table tables[3] = {MakeTable(context, kWords, kIds), MakeTable(context, kPositions, kPlaces)};
    int count = 2;
    if (context.has_input(kKinds)) {
      if (!context.has_input(kSegments)) context.Fail("a segment_embedding without segment_ids");
      tables[count++] = MakeTable(context, kKinds, kSegments);
    }
    std::atomic<std::int64_t> bad{-1};
    ParallelItems(
        context, tokens, static_cast<double>(width), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t t = begin; t < end; ++t) {
            const T* rows[3] = {};
            for (int i = 0; i < count; ++i) {
              const std::int64_t row = RowOf(tables[i], t);
              if (row < 0) bad = t;
              rows[i] = tables[i].rows->template data<T>() + std::max<std::int64_t>(row, 0) * width;
            }
            T* to = sum + t * width;
            for (std::int64_t k = 0; k < width; ++k) {
              auto v = Widen(rows[0][k]) + Widen(rows[1][k]);
              if (count == 3) v += Widen(rows[2][k]);
              to[k] = Narrow<T>(v);
            }
          }
        });
    if (bad >= 0) context.Fail("token " + std::to_string(bad) + " is outside of a table");
  }

  void StoreLengths(OpKernelContext& context) const {
    const Tensor& ids = context.Input(kIds);
    const std::int64_t dims[] = {ids.dim(0)};
    auto* to = context.Output(1, dims).data_mutable<std::int32_t>();
    const Tensor* mask = context.OptionalInput(kMask);
    if (mask != nullptr && mask->size() != ids.size())
      context.Fail("mask " + mask->Describe() + " for input_ids " + ids.Describe());
    for (std::int64_t b = 0; b < ids.dim(0); ++b) {
      to[b] = 0;
      if (mask == nullptr || mask_index_type_ == 0) continue;
      const std::int32_t* row = mask->data<std::int32_t>() + b * ids.dim(1);
      for (std::int64_t s = 0; s < ids.dim(1); ++s) to[b] += row[s] == 1;
    }
  }

  float epsilon_;
  std::int64_t mask_index_type_;
  math::IsaLevel level_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  for (const char* name : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    registry.Register(
        KernelCreateInfo::For(name, "com.microsoft").Input(0, types::kFloats).Make<SkipNorm>());
  }
  registry.Register(KernelCreateInfo::For("EmbedLayerNormalization", "com.microsoft")
                        .Input(2, types::kFloats)
                        .Make<EmbedNorm>());
}

}  // namespace switchyard::cpu::kernels::contrib_norm
