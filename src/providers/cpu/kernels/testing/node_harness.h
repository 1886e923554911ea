#pragma once
// Runs one node on the CPU provider outside of any session: for kernel tests. Output types come
// from the test; output dims from the kernel.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "switchyard/ep/op_kernel.h"
#include "switchyard/ir/graph.h"

namespace switchyard::cpu::testing {

class NodeHarness {
 public:
  NodeHarness(std::string op_type, int since_version, std::string domain = "");
  ~NodeHarness();

  template <typename T>
  NodeHarness& Set(std::string name, T value) {
    attributes_.Set(Attribute{std::move(name), std::move(value)});
    return *this;
  }
  NodeHarness& In(OrtValue value, bool constant = false) {
    inputs_.push_back({std::move(value), constant, true});
    return *this;
  }
  template <typename T>
  NodeHarness& In(std::initializer_list<std::int64_t> dims, std::vector<T> values,
                  bool constant = false) {
    const Dims d(dims);
    return In(OrtValue::FromData<T>(d, std::span<const T>(values)), constant);
  }
  NodeHarness& NoInput() {
    inputs_.push_back({OrtValue(), false, false});
    return *this;
  }
  NodeHarness& Out(DataType type) {
    outputs_.push_back(ValueType::Tensor(type));
    return *this;
  }
  NodeHarness& Out(std::optional<ValueType> type) {
    outputs_.push_back(type.value_or(ValueType()));
    return *this;
  }

  // Creates the kernel, prepares and computes. Throws what the kernel throws.
  std::vector<OrtValue> Run(const std::string& isa = "", int threads = 1);

 private:
  struct Argument {
    OrtValue value;
    bool constant;
    bool present;
  };

  class Block;
  class Prepared;
  class Running;

  void BuildGraph();
  void Pack(const OpKernelInfo& info);

  std::string op_type_, domain_;
  int since_version_;
  Attributes attributes_;
  std::vector<Argument> inputs_;
  std::vector<ValueType> outputs_;
  std::unique_ptr<Graph> graph_;
  Node* node_ = nullptr;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<const std::byte*> packed_;
};

}  // namespace switchyard::cpu::testing
