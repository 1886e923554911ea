#pragma once
// Graphs as text: the language of test cases and of listings. Not a model format: functions of the
// model and its metadata are left out.
//
//   ir 10
//   opset 21
//   opset com.microsoft 1
//   graph main (float[N,3] x, int64[2] s = {1,2}) => (float[N,4] y) {
//     float[3,4] w = random(7)            # constants: {values}, fill(value), random(seed),
//     hex(bytes) h = "block/gemm": Gemm<alpha=0.5, transB=0>(x, w, )      # absent arguments are
//     empty float[N,4] y = If<then_branch=graph t () => (a) { a = Relu(h) },
//                       else_branch=graph e () => (b) { b = com.microsoft.Gelu(h) }>(c)
//   }
//
// Types: float[2,N,?], float[] (scalar), float[...] (unranked), seq(tensor(float)) and the like;
// those of inner values are optional. Names with other characters than letters, digits, "_", "."
// and
// "/" are quoted. Attributes: 1, 1.0, "s", [1,2], [1.0], ["s"], float[2]{1,2}, graph,
// type(float[2]),
// @reference; `name: ints = []` says the type where the value does not. `Op@13` is an operator of
// another version than the imported opset has. A name not defined in a body is captured.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "switchyard/ir/graph.h"

namespace switchyard {

struct TextOptions {
  bool types = true;  // of inner values
  bool node_names = true;
  std::size_t max_inline = 64;  // larger constants: fill(value) or hash(digits)
  // Inner values renamed and nodes in the order in which the outputs need them, so that graphs that
  // differ in names and order of creation only give the same text. Dead nodes come last.
  bool canonical = false;
};

SWITCHYARD_API std::string PrintGraph(const Graph& graph, const TextOptions& options = {});

// Throws InvalidArgument with line and column. hash(...) constants can't be read back.
SWITCHYARD_API std::unique_ptr<Graph> ParseGraph(std::string_view text);

}  // namespace switchyard
