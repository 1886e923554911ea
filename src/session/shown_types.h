#pragma once
// Types of inputs and outputs as a session shows them: symbols that inference made up for sizes
// that the model leaves open are unknown dims again.

#include <set>
#include <string>

#include "switchyard/ir/graph.h"

namespace switchyard {

class ShownTypes {
 public:
  // Of a graph before inference.
  explicit ShownTypes(const Graph& graph);
  ValueType Show(const ValueType& type) const;

 private:
  void Collect(const ValueType& type);
  std::set<std::string> declared_;  // symbols that the model itself names
};

}  // namespace switchyard
