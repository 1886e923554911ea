#pragma once
// What a session tells about itself: per node where it runs and why, copies with their bytes,
// passes with counts, and after a Run where its memory lay. Plain values.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/ir/rewrite/pass.h"

namespace switchyard {

enum class ReportFormat { kText, kJson, kHtml };

// Who was where in the arenas at which step, by the plan of the last Run.
struct MemoryReport {
  struct Row {
    std::string name;  // of the value, or of the node for scratch
    bool scratch = false;
    std::uint64_t offset = 0, bytes = 0;
    std::int32_t first = 0, last = 0;  // steps of that graph, both included
  };
  struct Arena {
    std::string graph, device;  // graph as in NodeRow
    int segment = 0;  // stretches of a graph whose shapes are known only one after the other
    std::uint64_t bytes = 0;
    std::vector<Row> rows;
  };
  std::vector<Arena> arenas;  // empty before the first Run
};

struct SWITCHYARD_API SessionReport {
  struct Value {
    std::string name, type;  // "float[N,3]"
  };
  struct NodeRow {
    std::string graph;  // "" the main graph, else "If_3.then_branch"
    std::string name, op, domain;
    int since_version = 0;
    std::string provider;  // "executor" for If, Loop, Scan
    int partition = -1;    // index among the partitions
    std::string cause, variant;
    bool followed = false;            // computed while shapes are bound, never run
    std::vector<std::string> inside;  // nodes of a compiled group
    std::vector<std::pair<std::string, std::string>> refusals;
    std::vector<std::string> inputs;  // values that are no constants, captured ones included
    std::vector<std::string> constants;
    std::vector<Value> outputs;
  };
  // Nodes of one provider that can run one after the other without another provider's.
  struct PartitionRow {
    std::string graph, provider;
    int nodes = 0;
  };
  struct CopyRow {
    std::string value, result, from, to;  // values, then devices
    std::int64_t bytes = -1;              // -1: depends on the run
  };
  std::string model;
  std::vector<Value> inputs, outputs;
  std::vector<std::string> providers;
  std::vector<PassResult> passes;
  std::vector<std::string> patches;  // in the order they were applied: "pass at node"
  std::vector<NodeRow> nodes;
  std::vector<PartitionRow> partitions;
  std::vector<CopyRow> copies;
  std::vector<std::string> warnings;
  std::uint64_t constant_bytes = 0;
  double load_milliseconds = 0;
  MemoryReport memory;

  std::string Text() const;
  std::string Json() const;  // "schema_version": 1
  std::string Html() const;  // one page that needs nothing else
  std::string Show(ReportFormat format) const;
};

}  // namespace switchyard
