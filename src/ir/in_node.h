#pragma once
// Names the node in errors that come from below it: shapes, memory, allocations.

#include <exception>
#include <new>
#include <string>

#include "switchyard/base/error.h"
#include "switchyard/ir/graph.h"

namespace switchyard {

// The exception being handled, with the node in front where it does not name it yet.
[[noreturn]] inline void RethrowInNode(const Node& node) {
  const std::string name = node.Describe();
  try {
    throw;
  } catch (const Error& error) {
    if (error.message().find(name) != std::string::npos) throw;
    throw error.WithContext(name);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kRuntimeException, name + ": out of memory");
  }
}

template <typename Function>
decltype(auto) InNode(const Node& node, Function&& function) {
  try {
    return function();
  } catch (const std::exception&) {
    RethrowInNode(node);
  }
}

}  // namespace switchyard
