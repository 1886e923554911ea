#pragma once
// Bodies that depend on the types or attributes of the call, written with BodyBuilder. Each returns
// false when it needs a type that is not known.

#include <optional>

#include "ir/body_builder.h"

namespace switchyard {

// Nothing: no such operator here, or a needed type is not known.
std::optional<FunctionBody> ContextBody(const Graph& graph, const Node& node,
                                        const OpSchemaRegistry& schemas);
// A plain body of the schema, for models that import `opset`.
std::optional<FunctionBody> PlainBody(const OpSchema& schema, int opset,
                                      const OpSchemaRegistry& schemas);

namespace bodies {
bool Attention(BodyBuilder& b);
bool Bernoulli(BodyBuilder& b);
bool CastLike(BodyBuilder& b);
bool CausalConvWithState(BodyBuilder& b);
bool Celu(BodyBuilder& b);
bool CenterCropPad(BodyBuilder& b);
bool Clip(BodyBuilder& b);
bool DepthToSpace(BodyBuilder& b);
bool Gelu(BodyBuilder& b);
bool GroupNormalization(BodyBuilder& b);
bool LayerNormalization(BodyBuilder& b);
bool LinearAttention(BodyBuilder& b);
bool LogSoftmax(BodyBuilder& b);
bool NegativeLogLikelihoodLoss(BodyBuilder& b);
bool Range(BodyBuilder& b);
bool RMSNormalization(BodyBuilder& b);
bool RotaryEmbedding(BodyBuilder& b);
bool Softmax(BodyBuilder& b);
bool SoftmaxCrossEntropyLoss(BodyBuilder& b);
bool SpaceToDepth(BodyBuilder& b);

// Shared: the logarithm of the softmax along an axis, whatever the opset.
BodyBuilder::Value WriteLogSoftmax(BodyBuilder& b, BodyBuilder::Value x, std::int64_t axis);
}  // namespace bodies

}  // namespace switchyard
