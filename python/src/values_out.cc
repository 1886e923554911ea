#include <algorithm>
#include <string>

#include "src/errors.h"
#include "src/numpy_array.h"
#include "src/values.h"
#include "switchyard/tensor/allocator.h"

namespace switchyard::python {
namespace {

bool Overlap(const Tensor& a, const Tensor& b) {
  if (a.size() == 0 || b.size() == 0) return false;
  const auto* first = static_cast<const std::byte*>(a.raw());
  const auto* second = static_cast<const std::byte*>(b.raw());
  return first < second + b.bytes() && second < first + a.bytes();
}

bool SharesWithFeeds(const Tensor& tensor, std::span<const OrtValue> feeds) {
  return std::any_of(feeds.begin(), feeds.end(), [&](const OrtValue& feed) {
    return feed.is_tensor() && feed.tensor().device() == tensor.device() &&
           Overlap(tensor, feed.tensor());
  });
}

nb::object TextToPython(const std::string& text) {
  PyObject* result =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

nb::object StringsToPython(const Tensor& tensor) {
  nb::object array = NewArray(DataType::kString, tensor.dims());
  auto* items = static_cast<PyObject**>(ArrayData(array));
  const std::string* strings = tensor.data<std::string>();
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    PyObject* previous = items[i];
    items[i] = TextToPython(strings[i]).release().ptr();
    Py_XDECREF(previous);
  }
  return array;
}

nb::object PackedToPython(const Tensor& tensor) {
  nb::object array = NewArray(tensor.type(), tensor.dims());
  const int bits = BitsOf(tensor.type()), per_byte = 8 / bits;
  const bool is_signed = tensor.type() == DataType::kInt4 || tensor.type() == DataType::kInt2;
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.raw());
  auto* elements = static_cast<std::uint8_t*>(ArrayData(array));
  const unsigned mask = (1u << bits) - 1, sign = is_signed ? 1u << (bits - 1) : 0u;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const unsigned value =
        (static_cast<unsigned>(bytes[i / per_byte]) >> (bits * (i % per_byte))) & mask;
    elements[i] = static_cast<std::uint8_t>((value ^ sign) - sign);
  }
  return array;
}

nb::object KeepAlive(StoragePtr storage) {
  return nb::capsule(new StoragePtr(std::move(storage)),
                     [](void* held) noexcept { delete static_cast<StoragePtr*>(held); });
}

nb::object TensorView(const Tensor& tensor, StoragePtr storage, bool writable) {
  if (!tensor.device().is_host()) {
    RaiseRuntimeError("a tensor on " + tensor.device().ToString() +
                      " has no array: copy it to the host first");
  }
  if (tensor.type() == DataType::kString) return StringsToPython(tensor);
  if (IsPacked(tensor.type())) return PackedToPython(tensor);
  if (tensor.size() == 0) return NewArray(tensor.type(), tensor.dims());
  return WrapArray(tensor.type(), tensor.dims(), tensor.strides(), const_cast<void*>(tensor.raw()),
                   KeepAlive(std::move(storage)), writable);
}

nb::object ScalarToPython(const std::string& text) { return TextToPython(text); }
nb::object ScalarToPython(std::int64_t number) { return nb::int_(number); }
nb::object ScalarToPython(double number) { return nb::float_(number); }

nb::object MapToPython(const MapValue& map) {
  nb::dict dict;
  std::visit(
      [&](const auto& entries) {
        for (const auto& [key, value] : entries) dict[ScalarToPython(key)] = ScalarToPython(value);
      },
      map.entries);
  return dict;
}

// tensor_view: Tensor -> object.
template <typename View>
nb::object ToPython(const OrtValue& value, const View& tensor_view) {
  if (value.is_tensor()) return tensor_view(value.tensor());
  if (value.is_map()) return MapToPython(value.map());
  if (!value.has_value()) return nb::none();
  nb::list list;
  for (const OrtValue& item : value.sequence().items) list.append(ToPython(item, tensor_view));
  return list;
}

nb::object CopyAsArray(const Tensor& tensor) {
  const nb::object view = TensorView(tensor, nullptr, false);
  return view.attr("copy")();
}

}  // namespace

nb::object ResultToPython(OrtValue& value, std::span<const OrtValue> feeds) {
  return ToPython(value, [&](const Tensor& tensor) {
    if (tensor.type() == DataType::kString || tensor.size() == 0)
      return TensorView(tensor, nullptr, true);
    // One reference: this value's. More: the session, a constant or another value shows the same
    // bytes.
    if (tensor.storage().use_count() != 1 || SharesWithFeeds(tensor, feeds))
      return CopyAsArray(tensor);
    return TensorView(tensor, tensor.storage(), true);
  });
}

nb::object ViewAsPython(const OrtValue& value, bool writable) {
  return ToPython(
      value, [&](const Tensor& tensor) { return TensorView(tensor, tensor.storage(), writable); });
}

OrtValue Unaliased(OrtValue value, std::span<const OrtValue> feeds) {
  if (!value.is_tensor() || !value.tensor().device().is_host() || !value.tensor().is_dense())
    return value;
  const Tensor& tensor = value.tensor();
  const bool borrowed = tensor.storage() == nullptr && tensor.size() != 0;
  if (!borrowed && !SharesWithFeeds(tensor, feeds)) return value;
  return tensor.Clone(MakeHostAllocator());
}

}  // namespace switchyard::python
