// Signals, images, and operators that make random numbers.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::signal {
namespace {

// A scalar input as a size; unknown if it can't be told.
Dim ReadSize(InferenceContext& ctx, std::size_t input) {
  Ints value;
  return ctx.ReadInts(input, &value) && value.size() == 1 ? value[0] : Dim();
}

Dim HalfSpectrum(const Dim& length) { return FloorDiv(length, Dim(2)) + Dim(1); }

void InferDft(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "input", 2);
  ctx.SetTensor(0, ctx.input_elem(0), x.ranked() ? Shape::OfRank(x.rank()) : Shape());
  if (!x.ranked()) return;
  const bool onesided = ctx.attributes().Int("onesided", 0) != 0;
  const bool real_inverse = onesided && ctx.attributes().Int("inverse", 0) != 0;
  Shape out = x;
  out[x.rank() - 1] = Dim(real_inverse ? 1 : 2);
  std::int64_t axis = ctx.since_version() < 20 ? ctx.attributes().Int("axis", 1) : -2;
  if (ctx.has_input(2)) {
    Axes given;
    if (!ReadNumbers(ctx, 2, &given) || given.size() != 1) {
      // Any axis may be the one whose length changes.
      const bool changes = onesided || ctx.has_input(1);
      for (std::size_t i = 0; changes && i + 1 < x.rank(); ++i) out[i] = Dim();
      return ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
    }
    axis = given[0];
  }
  const auto at = static_cast<std::size_t>(ctx.Axis(axis, x.rank()));
  if (at + 1 == x.rank()) ctx.Fail("axis " + std::to_string(axis) + " holds the complex parts");
  Dim length = real_inverse ? (x[at] - Dim(1)) * Dim(2) : x[at];
  if (ctx.has_input(1)) length = ReadSize(ctx, 1);
  out[at] = onesided && !real_inverse ? HalfSpectrum(length) : length;
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferStft(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  CheckRank(ctx, 0, "signal", 2, 3);
  CheckRank(ctx, 2, "window", 1, 1);
  const Dim step = ReadSize(ctx, 1);
  Dim frame;
  if (ctx.has_input(3)) {
    frame = ReadSize(ctx, 3);
  } else if (ctx.has_input(2)) {
    if (ctx.input_shape(2).ranked()) frame = ctx.input_shape(2)[0];
  } else {
    ctx.Fail("needs a window or a frame_length");
  }
  if (IsValue(step, 0)) ctx.Fail("frame_step is 0");
  const Dim batch = x.ranked() ? x[0] : Dim();
  const Dim length = x.ranked() ? x[1] : Dim();
  const bool onesided = ctx.attributes().Int("onesided", 1) != 0;
  ctx.SetTensor(0, ctx.input_elem(0),
                {batch, FloorDiv(length - frame, step) + Dim(1),
                 onesided ? HalfSpectrum(frame) : frame, Dim(2)});
}

void InferWindow(InferenceContext& ctx) {
  CheckRank(ctx, 0, "size", 0, 1);
  ctx.SetTensor(0, DataTypeAttribute(ctx, "output_datatype", DataType::kFloat), {ReadSize(ctx, 0)});
}

void InferMelWeights(InferenceContext& ctx) {
  ctx.SetTensor(0, DataTypeAttribute(ctx, "output_datatype", DataType::kFloat),
                {HalfSpectrum(ReadSize(ctx, 1)), ReadSize(ctx, 0)});
}

void InferImageDecoder(InferenceContext& ctx) {
  CheckRank(ctx, 0, "encoded_stream", 1, 1);
  const bool gray = Text(ctx, "pixel_format", "RGB") == "Grayscale";
  ctx.SetTensor(0, DataType::kUint8, {Dim(), Dim(), Dim(gray ? 1 : 3)});
}

void InferRandom(InferenceContext& ctx) {
  const std::span<const std::int64_t> shape = ctx.attributes().Ints("shape");
  ctx.SetTensor(0, DataTypeAttribute(ctx, "dtype", DataType::kFloat), Shape(shape));
}

void InferRandomLike(InferenceContext& ctx) {
  CopyShape(ctx, 0, 0, DataTypeAttribute(ctx, "dtype", ctx.input_elem(0)));
}

void InferMultinomial(InferenceContext& ctx) {
  CheckRank(ctx, 0, "input", 2, 2);
  const Shape& x = ctx.input_shape(0);
  ctx.SetTensor(0, DataTypeAttribute(ctx, "dtype", DataType::kInt32),
                {x.ranked() ? x[0] : Dim(), Dim(ctx.attributes().Int("sample_size", 1))});
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("DFT", InferDft);
  registry.Register("STFT", InferStft);
  for (const char* op : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
    registry.Register(op, InferWindow);
  }
  registry.Register("MelWeightMatrix", InferMelWeights);
  registry.Register("ImageDecoder", InferImageDecoder);
  for (const char* op : {"RandomNormal", "RandomUniform"}) registry.Register(op, InferRandom);
  for (const char* op : {"RandomNormalLike", "RandomUniformLike"}) {
    registry.Register(op, InferRandomLike);
  }
  registry.Register("Multinomial", InferMultinomial);
}

}  // namespace switchyard::ir::ops::signal
