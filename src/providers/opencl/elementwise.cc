#include "providers/opencl/elementwise.h"

namespace switchyard::opencl {
namespace {

constexpr std::int64_t kLocal = 64;
constexpr std::int64_t kEach = 8;  // elements per work-item of a flat kernel
constexpr const char* kLetters = "abc";

std::string Parameters(std::size_t inputs) {
  std::string text;
  for (std::size_t i = 0; i < inputs; ++i)
    text += fmt::format("BUF(const T{0}, {0}_), ", kLetters[i]);
  return text + "BUF(TO, o_)";
}

std::string Starts(std::size_t inputs) {
  std::string text;
  for (std::size_t i = 0; i < inputs; ++i) text += fmt::format("  AT({}_);\n", kLetters[i]);
  return text + "  AT(o_);\n";
}

std::string FlatCode(std::size_t inputs, unsigned mask) {
  std::string loads;
  for (std::size_t i = 0; i < inputs; ++i) {
    loads += fmt::format("    C{0} {0} = (C{0}){0}_[{1}];\n", kLetters[i],
                         ((mask >> i) & 1) != 0 ? "i" : "0");
  }
  return fmt::format(R"CL(
__kernel __attribute__((reqd_work_group_size({0}, 1, 1)))
void flat({1}, int n, float p, float q) {{
{2}  int first = get_group_id(0) * {3} + get_local_id(0);
  for (int u = 0; u < {4}; ++u) {{
    int i = first + u * {0};
    if (i >= n) return;
{5}    o_[i] = RESULT(EXPRESSION);
  }}
}})CL",
                     kLocal, Parameters(inputs), Starts(inputs), kLocal * kEach, kEach, loads);
}

std::string StridedCode(std::size_t inputs) {
  std::string parameters, arrays, zero, steps, loads;
  for (std::size_t i = 0; i < inputs; ++i) {
    const char name = kLetters[i];
    parameters += fmt::format(", int8 {0}_strides", name);
    arrays += fmt::format("  int s{0}[8]; vstore8({0}_strides, 0, s{0});\n", name);
    zero += fmt::format("  int i{0} = 0;\n", name);
    steps += fmt::format("    i{0} += r * s{0}[k];\n", name);
    loads += fmt::format("  C{0} {0} = (C{0}){0}_[i{0}];\n", name);
  }
  return fmt::format(R"CL(
__kernel __attribute__((reqd_work_group_size({0}, 1, 1)))
void strided({1}, int n, int rank, int8 dims{2}, float p, float q) {{
{3}  int i = get_global_id(0);
  if (i >= n) return;
  int d[8]; vstore8(dims, 0, d);
{4}{5}  uint rest = i;
  for (int k = rank - 1; k >= 0; --k) {{
    uint next = rest / (uint)d[k];
    int r = rest - next * d[k];
    rest = next;
{6}  }}
{7}  o_[i] = RESULT(EXPRESSION);
}})CL",
                     kLocal, Parameters(inputs), parameters, Starts(inputs), arrays, zero, steps,
                     loads);
}

Defines DefinesOf(const Expression& expression) {
  Defines defines;
  for (std::size_t i = 0; i < expression.inputs.size(); ++i) {
    const DataType type = expression.inputs[i];
    const std::string name(1, kLetters[i]);
    defines["T" + name] = expression.moves ? MoveType(type) : ClType(type);
    defines["C" + name] = expression.moves ? MoveType(type) : ComputeType(type);
  }
  const DataType out = expression.output;
  defines["TO"] = expression.moves ? MoveType(out) : ClType(out);
  defines["EXPRESSION"] = expression.text;
  defines["RESULT(x)"] =
      out == DataType::kBool && !expression.moves ? "((x) ? 1 : 0)" : "((TO)(x))";
  return defines;
}

}  // namespace

Elementwise::Elementwise(Expression expression, Builder builder)
    : state_(std::make_shared<State>()) {
  state_->expression = std::move(expression);
  state_->builder = std::move(builder);
}

EntryPoint Elementwise::Entry(unsigned variant) const {
  const std::lock_guard lock(state_->mutex);
  EntryPoint& entry = state_->entries[variant];
  if (!entry) {
    const std::size_t inputs = state_->expression.inputs.size();
    const bool strided = variant == kStrided;
    entry = state_->builder(strided ? StridedCode(inputs) : FlatCode(inputs, variant),
                            DefinesOf(state_->expression), strided ? "strided" : "flat",
                            {kLocal, 1, 1});
  }
  return entry;
}

void Elementwise::Warm(DimSpan out, std::span<const DimSpan> inputs) const {
  const Walk walk = WalkBroadcast(out, inputs);
  Entry(walk.flat ? walk.flat_mask : kStrided);
}

void Elementwise::Warm(const OpKernelInfo& info) const {
  const std::size_t count = state_->expression.inputs.size();
  if (count == 1) {
    Entry(1);
    return;
  }
  Dims out, dims[3];
  DimSpan inputs[3];
  if (!info.has_output(0) || !info.output_type(0).shape.is_concrete()) return;
  out = info.output_type(0).shape.concrete();
  for (std::size_t i = 0; i < count; ++i) {
    if (!info.has_input(i) || !info.input_type(i).shape.is_concrete()) return;
    dims[i] = info.input_type(i).shape.concrete();
    inputs[i] = dims[i];
  }
  Warm(out, std::span<const DimSpan>(inputs, count));
}

void Elementwise::Run(OpKernelContext& context, std::span<const Tensor* const> inputs, Tensor& out,
                      float p, float q) const {
  if (out.size() == 0) return;
  DimSpan dims[3];
  for (std::size_t i = 0; i < inputs.size(); ++i) dims[i] = inputs[i]->dims();
  const Walk walk = WalkBroadcast(out.dims(), std::span<const DimSpan>(dims, inputs.size()));
  const EntryPoint entry = Entry(walk.flat ? walk.flat_mask : kStrided);
  Launch launch = entry.On(context);
  for (const Tensor* input : inputs) launch.In(*input);
  launch.Out(out).Int(out.size());
  if (walk.flat) {
    launch.Float(p).Float(q).Run({(out.size() + kEach - 1) / kEach, 1, 1});
    return;
  }
  launch.Int(static_cast<std::int64_t>(walk.dims.size())).Ints(walk.dims);
  for (std::size_t i = 0; i < inputs.size(); ++i) launch.Ints(walk.strides[i]);
  launch.Float(p).Float(q).Run({out.size(), 1, 1});
}

}  // namespace switchyard::opencl
