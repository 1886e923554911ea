#include "providers/opencl/kernel.h"

#include <limits>

namespace switchyard::opencl {
namespace {

constexpr const char* kPrelude = R"CL(
#define BUF(type, name) __global type* name, ulong name##_at
#define AT(name) name += name##_at
)CL";

}  // namespace

const char* ClType(DataType type) {
  switch (type) {
    case DataType::kFloat:
      return "float";
    case DataType::kDouble:
      return "double";
    case DataType::kFloat16:
      return "half";
    case DataType::kInt8:
      return "char";
    case DataType::kUint8:
    case DataType::kBool:
      return "uchar";
    case DataType::kInt16:
      return "short";
    case DataType::kUint16:
      return "ushort";
    case DataType::kInt32:
      return "int";
    case DataType::kUint32:
      return "uint";
    case DataType::kInt64:
      return "long";
    case DataType::kUint64:
      return "ulong";
    default:
      return nullptr;
  }
}

const char* ComputeType(DataType type) {
  return type == DataType::kFloat16 ? "float" : ClType(type);
}

TypeSet Families::floats() const {
  TypeSet types = types::kFloat32;
  if (facts_.has_half) types = types | TypeSet(DataType::kFloat16);
  if (facts_.has_double) types = types | TypeSet(DataType::kDouble);
  return types;
}

const char* MoveType(DataType type) {
  switch (BitsOf(type)) {
    case 8:
      return "uchar";
    case 16:
      return "ushort";
    case 32:
      return "uint";
    case 64:
      return "ulong";
    case 128:
      return "ulong2";
    default:
      return nullptr;
  }
}

EntryPoint::EntryPoint(ProgramPtr program, std::string name, const Sizes& local)
    : state_(std::make_shared<State>()) {
  cl_int status = CL_SUCCESS;
  state_->kernel = Cl().clCreateKernel(program->get(), name.c_str(), &status);
  program->context().Check(status, fmt::format("no kernel {}", name));
  state_->program = std::move(program);
  state_->name = std::move(name);
  state_->local = local;
}

EntryPoint::State::~State() {
  if (kernel != nullptr) Cl().clReleaseKernel(kernel);
}

Launch::Launch(const EntryPoint& entry, OpKernelContext& context)
    : entry_(entry), context_(context), stream_(static_cast<ClStream&>(*context.stream())) {}

Launch& Launch::Value(const void* bytes, std::size_t size) {
  Argument argument{};
  SY_CHECK(size <= argument.bytes.size());
  std::memcpy(argument.bytes.data(), bytes, size);
  argument.size = size;
  arguments_.push_back(argument);
  return *this;
}

Launch& Launch::Buffer(const void* address, const Tensor& tensor) {
  const std::size_t bytes = tensor.bytes();
  if (bytes == 0) return NoBuffer();
  const Place place = stream_.context().addresses().Find(address, bytes);
  const auto element = static_cast<std::size_t>(BitsOf(tensor.type()) / 8);
  const cl_ulong offset = place.offset / element;
  if (offset * element != place.offset) {
    context_.Fail("a tensor's address on the device is not a multiple of its element's size",
                  ErrorCode::kInvalidArgument);
  }
  Value(&place.buffer, sizeof place.buffer);
  return Value(&offset, sizeof offset);
}

Launch& Launch::NoBuffer() {
  const cl_mem none = nullptr;
  const cl_ulong offset = 0;
  Value(&none, sizeof none);
  return Value(&offset, sizeof offset);
}

Launch& Launch::Int(std::int64_t value) {
  if (value > std::numeric_limits<cl_int>::max() || value < std::numeric_limits<cl_int>::min()) {
    context_.Fail(
        fmt::format("a size of {} is beyond the 32 bits of this provider's kernels", value),
        ErrorCode::kNotImplemented);
  }
  const auto narrow = static_cast<cl_int>(value);
  return Value(&narrow, sizeof narrow);
}

Launch& Launch::Ints(std::span<const std::int64_t> values) {
  cl_int8 packed{};
  SY_CHECK(values.size() <= 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > std::numeric_limits<cl_int>::max() ||
        values[i] < std::numeric_limits<cl_int>::min()) {
      context_.Fail("a size is beyond the 32 bits of this provider's kernels",
                    ErrorCode::kNotImplemented);
    }
    packed.s[i] = static_cast<cl_int>(values[i]);
  }
  return Value(&packed, sizeof packed);
}

void Launch::Run(const Sizes& global) {
  EntryPoint::State& state = *entry_.state_;
  std::size_t sizes[3], local[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (global[i] <= 0) return;
    local[i] = static_cast<std::size_t>(state.local[i]);
    sizes[i] = (static_cast<std::size_t>(global[i]) + local[i] - 1) / local[i] * local[i];
  }
  DeviceContext& device = stream_.context();
  device.CheckAlive();
  cl_event event = nullptr;
  stream_.Queued();
  {
    const std::lock_guard lock(state.mutex);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const cl_int status = Cl().clSetKernelArg(state.kernel, static_cast<cl_uint>(i),
                                                arguments_[i].size, arguments_[i].bytes.data());
      if (status != CL_SUCCESS)
        device.Check(status, fmt::format("argument {} of {}", i, state.name));
    }
    const cl_int status =
        Cl().clEnqueueNDRangeKernel(stream_.queue(), state.kernel, 3, nullptr, sizes, local, 0,
                                    nullptr, stream_.profiles() ? &event : nullptr);
    if (status != CL_SUCCESS) device.Check(status, fmt::format("launching {}", state.name));
  }
  device.counters().launches.fetch_add(1, std::memory_order_relaxed);
  if (event != nullptr) stream_.Launched(state.name, event);
}

ClKernel::ClKernel(OpKernelInfo& info)
    : provider_(static_cast<const OpenClProvider&>(info.provider())) {}

EntryPoint ClKernel::Build(std::string_view code, const Defines& defines, const std::string& entry,
                           const Sizes& local) const {
  std::string source;
  bool half = false;
  for (const auto& [name, value] : defines) {
    source += "#define " + name + " " + value + "\n";
    half |= value == "half";
  }
  if (half) source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" + source;
  source += fmt::format("#define LANES {}\n", lanes());
  source += kPrelude;
  source += code;
  DeviceContext& context = provider_.context();
  return EntryPoint(context.programs().Get(source, "-cl-std=CL1.2", provider_.options().cache_dir),
                    entry, local);
}

void CheckIndexable(const OpKernelContext& context, const Tensor& tensor) {
  if (tensor.size() > std::numeric_limits<cl_int>::max()) {
    context.Fail(tensor.Describe() + " has more elements than the kernels of OpenCL count",
                 ErrorCode::kNotImplemented);
  }
}

void CopyOnDevice(OpKernelContext& context, const Tensor& from, Tensor& to) {
  const std::size_t bytes = from.bytes();
  if (bytes == 0 || from.raw() == to.raw()) return;
  auto& stream = static_cast<ClStream&>(*context.stream());
  DeviceContext& device = stream.context();
  device.CheckAlive();
  const Place source = device.addresses().Find(from.raw(), bytes);
  const Place target = device.addresses().Find(to.raw(), bytes);
  stream.Queued();
  device.Check(Cl().clEnqueueCopyBuffer(stream.queue(), source.buffer, target.buffer, source.offset,
                                        target.offset, bytes, 0, nullptr, nullptr),
               "copy on the device");
}

std::int64_t Product(std::span<const std::int64_t> dims) {
  std::int64_t product = 1;
  for (std::int64_t d : dims) product *= d;
  return product;
}

std::size_t NormalizeAxis(const OpKernelContext& context, std::int64_t axis, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit)
    context.Fail(fmt::format("axis {} is out of range for rank {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

Dims ReadIntegers(const OpKernelContext& context, std::size_t input) {
  const Tensor& tensor = context.Input(input);
  Dims values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    values.push_back(tensor.type() == DataType::kInt32
                         ? static_cast<std::int64_t>(tensor.data<std::int32_t>()[i])
                         : tensor.data<std::int64_t>()[i]);
  }
  return values;
}

std::string WhyNotRank(const Node& node, std::size_t most) {
  for (const auto& list : {node.inputs(), node.outputs()}) {
    for (const NodeArg* value : list) {
      if (value == nullptr || !value->type().is_tensor()) continue;
      const Shape& shape = value->type().shape;
      if (!shape.ranked()) return fmt::format("the rank of '{}' is not known", value->Name());
      if (shape.rank() > most) {
        return fmt::format("'{}' has {} dims, the kernel takes up to {}", value->Name(),
                           shape.rank(), most);
      }
    }
  }
  return {};
}

}  // namespace switchyard::opencl
