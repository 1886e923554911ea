// Operators on strings.

#include <algorithm>

#include "ir/shape_rules.h"

namespace switchyard::ir::ops::text {
namespace {

void InferNormalizer(InferenceContext& ctx) {
  CheckRank(ctx, 0, "X", 1, 2);
  const Shape& x = ctx.input_shape(0);
  Shape out = x;
  // Stop words are taken out.
  if (x.ranked() && ctx.attributes().Has("stopwords")) out[x.rank() - 1] = Dim();
  ctx.SetTensor(0, DataType::kString, std::move(out));
}

void InferConcat(InferenceContext& ctx) {
  ctx.SetTensor(0, DataType::kString, Broadcast(ctx, 0, 2));
}

void InferMatch(InferenceContext& ctx) { CopyShape(ctx, 0, 0, DataType::kBool); }

void InferSplit(InferenceContext& ctx) {
  Shape out = ctx.input_shape(0);
  if (out.ranked()) out.push_back(Dim());
  ctx.SetTensor(0, DataType::kString, std::move(out));
  CopyShape(ctx, 0, 1, DataType::kInt64);
}

void InferTfIdf(InferenceContext& ctx) {
  CheckRank(ctx, 0, "X", 1, 2);
  const Shape& x = ctx.input_shape(0);
  const std::span<const std::int64_t> columns = ctx.attributes().Ints("ngram_indexes");
  if (columns.empty()) ctx.Fail("attribute 'ngram_indexes' is missing or empty");
  const Dim width(*std::max_element(columns.begin(), columns.end()) + 1);
  if (!x.ranked()) return ctx.SetTensor(0, DataType::kFloat, {});
  ctx.SetTensor(0, DataType::kFloat, x.rank() == 1 ? Shape{width} : Shape{x[0], width});
}

// Texts become lists of tokens, padded to the longest.
void InferTokenizer(InferenceContext& ctx) {
  CheckRank(ctx, 0, "X", 1, 2);
  Shape out = ctx.input_shape(0);
  if (out.ranked()) out.push_back(Dim());
  ctx.SetTensor(0, DataType::kString, std::move(out));
}

}  // namespace

void Register(InferenceRegistry& registry) {
  registry.Register("StringNormalizer", InferNormalizer);
  registry.Register("StringConcat", InferConcat);
  registry.Register("RegexFullMatch", InferMatch);
  registry.Register("StringSplit", InferSplit);
  registry.Register("TfIdfVectorizer", InferTfIdf);
  registry.Register("com.microsoft", "Tokenizer", 1, 0, InferTokenizer);
}

}  // namespace switchyard::ir::ops::text
