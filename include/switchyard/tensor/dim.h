#pragma once
// One dimension, or one integer of shape arithmetic: a number, an expression over symbols such as
// `N` or `2*N+1`, or unknown. A value type of two words; expressions are interned in a SymbolTable,
// so equal expressions of one table compare equal by pointer.
// Arithmetic on numbers never allocates; a result that overflows int64 is unknown.

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "switchyard/base/export.h"

namespace switchyard {

class DimExpr;  // owned by its SymbolTable

class SWITCHYARD_API Dim {
 public:
  Dim() : expr_(UnknownMark()) {}  // unknown
  template <std::integral T>
  Dim(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT: implicit by intent
  explicit Dim(const DimExpr* expr) : expr_(expr) {}

  bool is_value() const { return expr_ == nullptr; }
  bool is_unknown() const { return expr_ == UnknownMark(); }
  bool is_symbolic() const { return !is_value() && !is_unknown(); }
  std::int64_t value() const { return value_; }  // only if is_value()
  std::int64_t value_or(std::int64_t other) const { return is_value() ? value_ : other; }
  const DimExpr* expr() const { return is_symbolic() ? expr_ : nullptr; }

  // Provably equal. Two unknowns are not equal.
  friend bool operator==(const Dim& a, const Dim& b) {
    return !a.is_unknown() && a.expr_ == b.expr_ && (a.expr_ != nullptr || a.value_ == b.value_);
  }
  std::string ToString() const;  // "3", "2*N+1", "?"

 private:
  static const DimExpr* UnknownMark() { return reinterpret_cast<const DimExpr*>(1); }
  std::int64_t value_ = 0;
  const DimExpr* expr_ = nullptr;
};

SWITCHYARD_API Dim operator+(const Dim& a, const Dim& b);
SWITCHYARD_API Dim operator-(const Dim& a, const Dim& b);
SWITCHYARD_API Dim operator*(const Dim& a, const Dim& b);
// Towards minus infinity; an exact symbolic quotient is simplified. Division by 0 is unknown.
SWITCHYARD_API Dim FloorDiv(const Dim& a, const Dim& b);
SWITCHYARD_API Dim CeilDiv(const Dim& a, const Dim& b);
// The rest of FloorDiv: has the sign of b.
SWITCHYARD_API Dim Modulo(const Dim& a, const Dim& b);
SWITCHYARD_API Dim Min(const Dim& a, const Dim& b);
SWITCHYARD_API Dim Max(const Dim& a, const Dim& b);
// Provably >= 0: symbols stand for sizes.
SWITCHYARD_API bool IsNonNegative(const Dim& d);
// What two operands of a broadcast give in this dimension: unknown if it can't be told. Symbolic
// against 1 is the symbol; symbolic against another value is that value; two numbers that do not
// fit give unknown with *mismatch set.
SWITCHYARD_API Dim BroadcastDims(const Dim& a, const Dim& b, bool* mismatch);

// Owns the symbols and expressions of one graph. Not thread-safe; lives as long as any Dim of it.
class SWITCHYARD_API SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;
  // The symbol of that name, made on first use. Symbols stand for non-negative sizes.
  Dim Symbol(std::string_view name);
  // A new symbol, "unk__<n>", for a size only the run will tell.
  Dim Fresh();
  // Parses what Dim::ToString prints ("2*N+1"); an arbitrary text becomes a symbol of that name.
  Dim Parse(std::string_view text);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard
