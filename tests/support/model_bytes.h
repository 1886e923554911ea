#pragma once
// A graph, or a part of one, as the bytes of an ONNX model: small models for tests are written in
// the text form, and a group of nodes becomes a model of its own. Not a writer for products: no
// functions, no external data, no sequences.

#include <string>
#include <string_view>
#include <vector>

#include "switchyard/ir/graph_viewer.h"

namespace switchyard::test {

// `part`: its border values become inputs and outputs, its constants initializers.
std::string ModelBytes(const GraphViewer& part);
// From the text form of ir/text.h.
std::string ModelBytes(std::string_view text);

}  // namespace switchyard::test
