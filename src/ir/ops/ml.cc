// Operators of ai.onnx.ml.

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::ml {
namespace {

std::int64_t CountOf(const InferenceContext& ctx, std::string_view strings, std::string_view ints) {
  const auto count =
      std::max(ctx.attributes().Strings(strings).size(), ctx.attributes().Ints(ints).size());
  return static_cast<std::int64_t>(count);
}

// Rows of a matrix; a list is one row.
Dim Rows(const InferenceContext& ctx) {
  CheckRank(ctx, 0, "X", 1, 2);
  const Shape& x = ctx.input_shape(0);
  if (!x.ranked()) return {};
  return x.rank() == 1 ? Dim(1) : x[0];
}

void InferSame(InferenceContext& ctx) { CopyType(ctx, 0, 0); }
void InferToFloat(InferenceContext& ctx) { CopyShape(ctx, 0, 0, DataType::kFloat); }

void InferFeatureExtractor(InferenceContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  const Dim count = ctx.input_shape(1).element_count();
  CheckRank(ctx, 0, "X", 1);
  ctx.SetTensor(0, ctx.input_elem(0), {});
  if (!x.ranked()) return;
  Shape out = x.rank() == 1 ? Shape{Dim(1)} : Shape::Scalar();
  for (std::size_t i = 0; i + 1 < x.rank(); ++i) out.push_back(x[i]);
  out.push_back(count);
  ctx.SetTensor(0, ctx.input_elem(0), std::move(out));
}

void InferCastMap(InferenceContext& ctx) {
  const std::string_view to = Text(ctx, "cast_to", "TO_FLOAT");
  const DataType elem = to == "TO_STRING"  ? DataType::kString
                        : to == "TO_INT64" ? DataType::kInt64
                                           : DataType::kFloat;
  const bool dense = Text(ctx, "map_form", "DENSE") == "DENSE";
  ctx.SetTensor(0, elem, {Dim(1), dense ? Dim() : Dim(ctx.attributes().Int("max_map", 1))});
}

void InferCategoryMapper(InferenceContext& ctx) {
  const DataType from = ctx.input_elem(0);
  if (from == DataType::kUndefined) return;
  CopyShape(ctx, 0, 0, from == DataType::kString ? DataType::kInt64 : DataType::kString);
}

void InferDictVectorizer(InferenceContext& ctx) {
  const ValueType& map = ctx.input_type(0);
  const DataType elem = map.element != nullptr ? map.element->elem : DataType::kUndefined;
  ctx.SetTensor(0, elem, {Dim(1), Dim(CountOf(ctx, "string_vocabulary", "int64_vocabulary"))});
}

void InferFeatureVectorizer(InferenceContext& ctx) {
  std::int64_t width = 0;
  const auto widths = ctx.attributes().Ints("inputdimensions");
  for (const std::int64_t w : widths) width += w;
  ctx.SetTensor(0, DataType::kFloat, {Rows(ctx), widths.empty() ? Dim() : Dim(width)});
}

void InferLabelEncoder(InferenceContext& ctx) {
  const Attributes& a = ctx.attributes();
  DataType elem = DataType::kUndefined;
  if (ctx.since_version() < 2) {
    if (ctx.input_elem(0) == DataType::kUndefined) return;
    elem = ctx.input_elem(0) == DataType::kString ? DataType::kInt64 : DataType::kString;
  } else if (const ConstantPtr values = a.Tensor("values_tensor")) {
    elem = values->type();
  } else if (a.Has("values_strings")) {
    elem = DataType::kString;
  } else if (a.Has("values_int64s")) {
    elem = DataType::kInt64;
  } else if (a.Has("values_floats")) {
    elem = DataType::kFloat;
  } else {
    ctx.Fail("has no values");
  }
  CopyShape(ctx, 0, 0, elem);
}

// Labels and a score per class.
void SetClasses(InferenceContext& ctx, const Dim& scores) {
  const bool text = !ctx.attributes().Strings("classlabels_strings").empty();
  const Dim rows = Rows(ctx);
  ctx.SetTensor(0, text ? DataType::kString : DataType::kInt64, {rows});
  ctx.SetTensor(1, DataType::kFloat, {rows, scores});
}

void InferLinearClassifier(InferenceContext& ctx) {
  const std::int64_t count = CountOf(ctx, "classlabels_strings", "classlabels_ints");
  SetClasses(ctx, count > 0 ? Dim(count) : Dim());
}

void InferSvmClassifier(InferenceContext& ctx) {
  // Without probabilities there is a score per pair of classes, or per class.
  const std::int64_t count = CountOf(ctx, "classlabels_strings", "classlabels_ints");
  const bool probabilities = !ctx.attributes().Floats("prob_a").empty() && count > 0;
  SetClasses(ctx, probabilities || count == 2 ? Dim(count) : Dim());
}

void InferTreeClassifier(InferenceContext& ctx) {
  const std::int64_t count = CountOf(ctx, "classlabels_strings", "classlabels_int64s");
  SetClasses(ctx, count > 0 ? Dim(count) : Dim());
}

void InferLinearRegressor(InferenceContext& ctx) {
  ctx.SetTensor(0, DataType::kFloat, {Rows(ctx), Dim(ctx.attributes().Int("targets", 1))});
}

void InferSvmRegressor(InferenceContext& ctx) {
  ctx.SetTensor(0, DataType::kFloat, {Rows(ctx), Dim(1)});
}

void InferTreeRegressor(InferenceContext& ctx) {
  ctx.SetTensor(0, DataType::kFloat, {Rows(ctx), Dim(ctx.attributes().Int("n_targets", 1))});
}

void InferTreeEnsemble(InferenceContext& ctx) {
  ctx.SetTensor(0, ctx.input_elem(0), {Rows(ctx), Dim(ctx.attributes().Int("n_targets", 1))});
}

void InferOneHotEncoder(InferenceContext& ctx) {
  Shape out = ctx.input_shape(0);
  if (out.ranked()) out.push_back(Dim(CountOf(ctx, "cats_strings", "cats_int64s")));
  ctx.SetTensor(0, DataType::kFloat, std::move(out));
}

void InferZipMap(InferenceContext& ctx) {
  const bool text = !ctx.attributes().Strings("classlabels_strings").empty();
  ctx.SetType(0, ValueType::Sequence(ValueType::Map(text ? DataType::kString : DataType::kInt64,
                                                    ValueType::Tensor(DataType::kFloat))));
}

}  // namespace

void Register(InferenceRegistry& registry) {
  const auto add = [&registry](std::string_view op, InferenceFn fn) {
    registry.Register("ai.onnx.ml", op, 1, 0, fn);
  };
  add("ArrayFeatureExtractor", InferFeatureExtractor);
  add("Binarizer", InferSame);
  add("CastMap", InferCastMap);
  add("CategoryMapper", InferCategoryMapper);
  add("DictVectorizer", InferDictVectorizer);
  add("FeatureVectorizer", InferFeatureVectorizer);
  add("Imputer", InferSame);
  add("LabelEncoder", InferLabelEncoder);
  add("LinearClassifier", InferLinearClassifier);
  add("LinearRegressor", InferLinearRegressor);
  add("Normalizer", InferToFloat);
  add("OneHotEncoder", InferOneHotEncoder);
  add("SVMClassifier", InferSvmClassifier);
  add("SVMRegressor", InferSvmRegressor);
  add("Scaler", InferToFloat);
  add("TreeEnsemble", InferTreeEnsemble);
  add("TreeEnsembleClassifier", InferTreeClassifier);
  add("TreeEnsembleRegressor", InferTreeRegressor);
  add("ZipMap", InferZipMap);
}

}  // namespace switchyard::ir::ops::ml
