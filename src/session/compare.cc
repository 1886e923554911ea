// Errors between two values.

#include <algorithm>
#include <cmath>
#include <variant>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/format.h"
#include "switchyard/session/verify.h"

namespace switchyard {
namespace {

struct Tally {
  OutputError& out;
  std::int64_t lost = 0;  // finite on one side only, or infinities of two signs

  void Add(double a, double b, bool same_bits) {
    ++out.elements;
    if (!same_bits) ++out.differing;
    if (std::isnan(a) && std::isnan(b)) return;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b) ++lost;
      return;
    }
    out.largest = std::max(out.largest, std::abs(a));
    out.error = std::max(out.error, std::abs(a - b));
  }
};

template <typename T>
double AsDouble(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

template <typename T>
void CompareElements(const Tensor& a, const Tensor& b, Tally& tally) {
  const T* x = a.data<T>();
  const T* y = b.data<T>();
  for (std::int64_t i = 0; i < a.size(); ++i)
    tally.Add(AsDouble(x[i]), AsDouble(y[i]), std::memcmp(x + i, y + i, sizeof(T)) == 0);
}

void CompareStrings(const Tensor& a, const Tensor& b, Tally& tally) {
  const auto x = a.values<std::string>(), y = b.values<std::string>();
  for (std::size_t i = 0; i < x.size(); ++i) tally.Add(0, x[i] == y[i] ? 0 : 1, x[i] == y[i]);
}

// Types without arithmetic here: equal or not, byte by byte.
void CompareBytes(const Tensor& a, const Tensor& b, Tally& tally) {
  const auto* x = static_cast<const std::byte*>(a.raw());
  const auto* y = static_cast<const std::byte*>(b.raw());
  for (std::size_t i = 0; i < a.bytes(); ++i) tally.Add(0, x[i] == y[i] ? 0 : 1, x[i] == y[i]);
}

void CompareTensors(const Tensor& a, const Tensor& b, Tally& tally) {
  switch (a.type()) {
    case DataType::kFloat:
      return CompareElements<float>(a, b, tally);
    case DataType::kDouble:
      return CompareElements<double>(a, b, tally);
    case DataType::kFloat16:
      return CompareElements<Float16>(a, b, tally);
    case DataType::kBFloat16:
      return CompareElements<BFloat16>(a, b, tally);
    case DataType::kInt8:
      return CompareElements<std::int8_t>(a, b, tally);
    case DataType::kUint8:
      return CompareElements<std::uint8_t>(a, b, tally);
    case DataType::kInt16:
      return CompareElements<std::int16_t>(a, b, tally);
    case DataType::kUint16:
      return CompareElements<std::uint16_t>(a, b, tally);
    case DataType::kInt32:
      return CompareElements<std::int32_t>(a, b, tally);
    case DataType::kUint32:
      return CompareElements<std::uint32_t>(a, b, tally);
    case DataType::kInt64:
      return CompareElements<std::int64_t>(a, b, tally);
    case DataType::kUint64:
      return CompareElements<std::uint64_t>(a, b, tally);
    case DataType::kBool:
      return CompareElements<bool>(a, b, tally);
    case DataType::kString:
      return CompareStrings(a, b, tally);
    default:
      return CompareBytes(a, b, tally);
  }
}

template <typename T>
void CompareMapped(const T& a, const T& b, Tally& tally) {
  if constexpr (std::is_arithmetic_v<T>) {
    tally.Add(static_cast<double>(a), static_cast<double>(b), a == b);
  } else {
    tally.Add(0, a == b ? 0 : 1, a == b);
  }
}

std::string CompareMaps(const MapValue& a, const MapValue& b, Tally& tally) {
  if (a.entries.index() != b.entries.index()) return "another kind of map";
  return std::visit(
      [&](const auto& x) -> std::string {
        const auto& y = std::get<std::decay_t<decltype(x)>>(b.entries);
        if (x.size() != y.size()) return fmt::format("{} entries, not {}", y.size(), x.size());
        for (const auto& [key, value] : x) {
          const auto other = y.find(key);
          if (other == y.end()) return fmt::format("no entry for {}", key);
          CompareMapped(value, other->second, tally);
        }
        return "";
      },
      a.entries);
}

// "" or why the two can't be compared.
std::string Walk(const OrtValue& a, const OrtValue& b, Tally& tally) {
  if (a.has_value() != b.has_value()) return a.has_value() ? "no value" : "a value, not none";
  if (a.is_tensor() && b.is_tensor()) {
    const Tensor &x = a.tensor(), &y = b.tensor();
    if (x.type() != y.type() ||
        !std::equal(x.dims().begin(), x.dims().end(), y.dims().begin(), y.dims().end())) {
      return y.Describe() + " instead of " + x.Describe();
    }
    CompareTensors(x, y, tally);
    return "";
  }
  if (a.is_sequence() && b.is_sequence()) {
    const auto &x = a.sequence().items, &y = b.sequence().items;
    if (x.size() != y.size()) return fmt::format("{} items, not {}", y.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::string fault = Walk(x[i], y[i], tally); !fault.empty()) return fault;
    }
    return "";
  }
  if (a.is_map() && b.is_map()) return CompareMaps(a.map(), b.map(), tally);
  return a.has_value() ? "another kind of value" : "";
}

// How far elements of this type may lie apart, absolute and relative.
struct Allowance {
  double absolute = 0, relative = 0;
};

template <typename... Ts>
bool MapsToFloats(const std::variant<Ts...>& entries) {
  return std::visit(
      [](const auto& map) {
        return std::is_floating_point_v<typename std::decay_t<decltype(map)>::mapped_type>;
      },
      entries);
}

// nullopt: they must be equal. Not told by the error, in which large integers look the same.
std::optional<Allowance> AllowanceFor(const OrtValue& value, double tolerance) {
  if (value.is_map() && MapsToFloats(value.map().entries)) return Allowance{0, tolerance};
  if (value.is_sequence() && !value.sequence().items.empty())
    return AllowanceFor(value.sequence().items[0], tolerance);
  switch (value.is_tensor() ? value.tensor().type() : DataType::kUndefined) {
    case DataType::kFloat:
    case DataType::kDouble:
      return Allowance{0, tolerance};
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return Allowance{0, tolerance * 10};
    case DataType::kInt8:
    case DataType::kUint8:
      return Allowance{1, 0};  // a value between two steps may be rounded to either
    default:
      return std::nullopt;
  }
}

}  // namespace

OutputError CompareValues(std::string name, const OrtValue& reference, const OrtValue& value,
                          double tolerance) {
  OutputError out;
  out.name = std::move(name);
  if (reference.is_tensor()) {
    out.type = reference.tensor().Describe();
  } else if (reference.has_value()) {
    out.type = reference.type().ToString();
  }
  Tally tally{out};
  out.fault = Walk(reference, value, tally);
  if (out.fault.empty() && tally.lost != 0)
    out.fault = fmt::format("{} elements are finite on one side only", tally.lost);
  out.relative = out.largest > 0 ? out.error / out.largest : out.error;
  const std::optional<Allowance> allowed = AllowanceFor(reference, tolerance);
  const bool near = allowed ? out.error <= allowed->absolute || out.relative <= allowed->relative
                            : out.differing == 0;
  out.within = out.fault.empty() && near;
  return out;
}

}  // namespace switchyard
