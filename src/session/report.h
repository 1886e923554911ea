#pragma once
// What explain tells: per node where it runs and why, per copy its bytes, passes with counts.

#include <cstdint>
#include <string>
#include <vector>

#include "switchyard/ir/rewrite/pass.h"

namespace switchyard {

struct SessionReport {
  struct NodeRow {
    std::string graph;  // "" the main graph, else "If_3.then_branch"
    std::string name, op, domain;
    int since_version = 0;
    std::string provider;  // "executor" for If, Loop, Scan
    std::string cause, variant;
    bool followed = false;            // computed while shapes are bound, never run
    std::vector<std::string> inside;  // nodes of a compiled group
    std::vector<std::pair<std::string, std::string>> refusals;
  };
  struct CopyRow {
    std::string value, from, to;
    std::int64_t bytes = -1;  // -1: depends on the run
  };
  std::string model;
  std::vector<std::string> providers;
  std::vector<PassResult> passes;
  std::vector<NodeRow> nodes;
  std::vector<CopyRow> copies;
  std::vector<std::string> warnings;
  std::uint64_t constant_bytes = 0;
  double load_milliseconds = 0;

  std::string Text() const;
  std::string Json() const;  // "schema_version": 1
};

}  // namespace switchyard
