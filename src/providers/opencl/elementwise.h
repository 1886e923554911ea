#pragma once
// Kernels that make each output element from one element of every input: code generated from one
// expression, with numpy's broadcasting.

#include <mutex>

#include "providers/opencl/broadcast.h"
#include "providers/opencl/kernel.h"

namespace switchyard::opencl {

// The expression speaks of a, b, c (the inputs' elements in their compute types) and of p, q
// (floats); its value is converted to the output's type.
struct Expression {
  std::string text;
  std::vector<DataType> inputs;  // 1 to 3
  DataType output = DataType::kFloat;
  bool moves = false;  // elements are only moved: their types do not matter, only their sizes
};

class Elementwise {
 public:
  using Builder = std::function<EntryPoint(std::string_view code, const Defines& defines,
                                           const std::string& entry, const Sizes& local)>;
  Elementwise() = default;
  // Variants for shapes known now are built at once, others when first needed.
  Elementwise(Expression expression, Builder builder);
  void Warm(const OpKernelInfo& info) const;
  void Warm(DimSpan out, std::span<const DimSpan> inputs) const;

  void Run(OpKernelContext& context, std::span<const Tensor* const> inputs, Tensor& out,
           float p = 0, float q = 0) const;

 private:
  static constexpr unsigned kStrided = 8;  // variants below: flat, by mask
  struct State {
    Expression expression;
    Builder builder;
    std::mutex mutex;
    EntryPoint entries[9];
  };
  EntryPoint Entry(unsigned variant) const;
  std::shared_ptr<State> state_;
};

}  // namespace switchyard::opencl
