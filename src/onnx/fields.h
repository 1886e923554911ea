#pragma once
// Field numbers of the ONNX messages (onnx.proto, IR version 14).

#include <cstdint>

namespace switchyard::onnx {

using FieldNumber = std::uint32_t;

namespace model {
inline constexpr FieldNumber kIrVersion = 1, kProducerName = 2, kProducerVersion = 3, kDomain = 4,
                             kModelVersion = 5, kDocString = 6, kGraph = 7, kOpsetImport = 8,
                             kMetadataProps = 14, kTrainingInfo = 20, kFunctions = 25;
}
namespace opset_id {
inline constexpr FieldNumber kDomain = 1, kVersion = 2;
}
namespace entry {  // StringStringEntryProto
inline constexpr FieldNumber kKey = 1, kValue = 2;
}
namespace graph {
inline constexpr FieldNumber kNode = 1, kName = 2, kInitializer = 5, kDocString = 10, kInput = 11,
                             kOutput = 12, kValueInfo = 13, kQuantizationAnnotation = 14,
                             kSparseInitializer = 15;
}
namespace annotation {
inline constexpr FieldNumber kTensorName = 1, kQuantParameterTensorNames = 2;
}
namespace value_info {
inline constexpr FieldNumber kName = 1, kType = 2;
}
namespace node {
inline constexpr FieldNumber kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5,
                             kDomain = 7, kOverload = 8;
}
namespace attribute {
inline constexpr FieldNumber kName = 1, kF = 2, kI = 3, kS = 4, kT = 5, kG = 6, kFloats = 7,
                             kInts = 8, kStrings = 9, kTensors = 10, kGraphs = 11, kTp = 14,
                             kTypeProtos = 15, kType = 20, kRefAttrName = 21, kSparseTensor = 22,
                             kSparseTensors = 23;
}
namespace function {
inline constexpr FieldNumber kName = 1, kInput = 4, kOutput = 5, kAttribute = 6, kNode = 7,
                             kDocString = 8, kOpsetImport = 9, kDomain = 10, kAttributeProto = 11,
                             kValueInfo = 12, kOverload = 13;
}
namespace tensor {
inline constexpr FieldNumber kDims = 1, kDataType = 2, kSegment = 3, kFloatData = 4, kInt32Data = 5,
                             kStringData = 6, kInt64Data = 7, kName = 8, kRawData = 9,
                             kDoubleData = 10, kUint64Data = 11, kExternalData = 13,
                             kDataLocation = 14;
}
namespace sparse_tensor {
inline constexpr FieldNumber kValues = 1, kIndices = 2, kDims = 3;
}
namespace type {
inline constexpr FieldNumber kTensorType = 1, kSequenceType = 4, kMapType = 5, kDenotation = 6,
                             kOpaqueType = 7, kSparseTensorType = 8, kOptionalType = 9;
// Tensor, SparseTensor, Sequence, Optional; Map has its key type there.
inline constexpr FieldNumber kElemType = 1, kShape = 2, kMapValueType = 2;
}  // namespace type
namespace shape {
inline constexpr FieldNumber kDim = 1, kDimValue = 1, kDimParam = 2, kDimDenotation = 3;
}

}  // namespace switchyard::onnx
