#pragma once
// What surrounds the graph of a model: versions, metadata, functions, symbols. Not the graph
// itself.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "switchyard/ir/attribute.h"
#include "switchyard/tensor/dim.h"

namespace switchyard {

// A model-local function: a body graph whose inputs are the formal parameters; attribute values
// inside may be AttributeReferences.
struct FunctionBody {
  std::string domain, name, overload;
  std::vector<std::string> attributes;  // without default
  Attributes default_attributes;
  std::map<std::string, int> opset_imports;
  std::shared_ptr<Graph> body;
};

// What surrounds the graph of a model. Shared by a graph and its bodies.
struct ModelContext {
  std::int64_t ir_version = 0;
  std::map<std::string, int> opset_imports;  // "" is ai.onnx
  std::string producer_name, producer_version, domain, doc_string, graph_name, graph_doc_string;
  std::int64_t model_version = 0;
  std::map<std::string, std::string> metadata;
  std::vector<FunctionBody> functions;
  // What dims of graph inputs and outputs mean ("DATA_BATCH"), and the names of the tensors that
  // hold scale and zero point of a value, as the model says.
  struct DimDenotation {
    std::string value;
    std::size_t axis;
    std::string denotation;
  };
  std::vector<DimDenotation> dim_denotations;
  std::map<std::string, std::map<std::string, std::string>> quantization_annotations;
  SymbolTable symbols;
};

}  // namespace switchyard
