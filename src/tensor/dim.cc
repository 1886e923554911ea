#include "switchyard/tensor/dim.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format.h"

namespace switchyard {

// A polynomial with integer coefficients over atoms: symbols, and quotients, rests, minima, maxima
// that could not be simplified. Interned by its text, which is canonical.
class DimExpr {
 public:
  using Monomial = std::vector<int>;               // atom ids, sorted, repeated for powers
  using Terms = std::map<Monomial, std::int64_t>;  // the empty monomial is the constant

  SymbolTable::Impl* table = nullptr;
  Terms terms;
  std::string text;
};

struct SymbolTable::Impl {
  std::vector<std::string> atoms;
  std::vector<bool> atom_may_be_negative;
  std::unordered_map<std::string, int> atom_ids;
  std::unordered_map<std::string, std::unique_ptr<DimExpr>> expressions;
  int next_fresh = 0;

  int Atom(const std::string& text, bool may_be_negative = false) {
    const auto [it, fresh] = atom_ids.try_emplace(text, static_cast<int>(atoms.size()));
    if (fresh) {
      atoms.push_back(text);
      atom_may_be_negative.push_back(may_be_negative);
    }
    return it->second;
  }
  std::string Print(const DimExpr::Terms& terms) const;
  Dim Intern(DimExpr::Terms terms);
};

namespace {

using Terms = DimExpr::Terms;
using Impl = SymbolTable::Impl;

// Beyond this an expression tells nobody anything; the size is then unknown.
constexpr std::size_t kMaxTerms = 64;
constexpr std::size_t kMaxText = 400;

Impl* TableOf(const Dim& a, const Dim& b) { return a.expr() ? a.expr()->table : b.expr()->table; }

Terms TermsOf(const Dim& d) {
  if (d.expr()) return d.expr()->terms;
  Terms terms;
  if (d.value() != 0) terms[{}] = d.value();
  return terms;
}

std::optional<Terms> Combine(const Terms& a, const Terms& b, std::int64_t sign) {
  Terms out = a;
  for (const auto& [monomial, coefficient] : b) {
    std::int64_t signed_value = 0, sum = 0;
    if (__builtin_mul_overflow(coefficient, sign, &signed_value)) return std::nullopt;
    if (__builtin_add_overflow(out[monomial], signed_value, &sum)) return std::nullopt;
    out[monomial] = sum;
  }
  return out;
}

std::optional<Terms> Multiply(const Terms& a, const Terms& b) {
  Terms out;
  for (const auto& [ma, ca] : a) {
    for (const auto& [mb, cb] : b) {
      DimExpr::Monomial m = ma;
      m.insert(m.end(), mb.begin(), mb.end());
      std::sort(m.begin(), m.end());
      std::int64_t product = 0, sum = 0;
      if (__builtin_mul_overflow(ca, cb, &product)) return std::nullopt;
      if (__builtin_add_overflow(out[m], product, &sum)) return std::nullopt;
      out[m] = sum;
    }
  }
  return out;
}

Dim Opaque(Impl* table, const char* name, const Dim& a, const Dim& b) {
  const bool may_be_negative = !IsNonNegative(a) || !IsNonNegative(b);
  std::string text = fmt::format("{}({},{})", name, a.ToString(), b.ToString());
  if (text.size() > kMaxText) return Dim();
  Terms terms;
  terms[{table->Atom(text, may_be_negative)}] = 1;
  return table->Intern(std::move(terms));
}

// a / b when every term divides, for a number or a single monomial b.
std::optional<Dim> ExactQuotient(const Dim& a, const Dim& b) {
  const Terms divisor = TermsOf(b);
  if (divisor.size() != 1) return std::nullopt;
  const auto& [dm, dc] = *divisor.begin();
  Terms out;
  for (const auto& [m, c] : TermsOf(a)) {
    if (dc == 0 || (dc == -1 && c == INT64_MIN) || c % dc != 0) return std::nullopt;
    if (!std::includes(m.begin(), m.end(), dm.begin(), dm.end())) return std::nullopt;
    DimExpr::Monomial rest;
    std::set_difference(m.begin(), m.end(), dm.begin(), dm.end(), std::back_inserter(rest));
    out[rest] = c / dc;
  }
  return TableOf(a, b)->Intern(std::move(out));
}

template <typename Fold>
Dim Arithmetic(const Dim& a, const Dim& b, Fold fold) {
  if (a.is_unknown() || b.is_unknown()) return Dim();
  std::optional<Terms> terms = fold(TermsOf(a), TermsOf(b));
  if (!terms) return Dim();
  return TableOf(a, b)->Intern(std::move(*terms));
}

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q - ((a % b != 0 && ((a < 0) != (b < 0))) ? 1 : 0);
}

bool Divisible(const Dim& a, const Dim& b) {
  return !(b.is_value() && (b.value() == 0 || (b.value() == -1 && a.value_or(0) == INT64_MIN)));
}

}  // namespace

std::string SymbolTable::Impl::Print(const Terms& terms) const {
  std::string text;
  // The constant, whose monomial is the empty one, stands last.
  std::vector<const Terms::value_type*> ordered;
  for (const auto& term : terms) {
    if (!term.first.empty()) ordered.push_back(&term);
  }
  if (const auto constant = terms.find({}); constant != terms.end()) ordered.push_back(&*constant);
  for (const auto* term : ordered) {
    const auto& [monomial, coefficient] = *term;
    if (!text.empty() && coefficient > 0) text += '+';
    if (monomial.empty()) {
      text += std::to_string(coefficient);
      continue;
    }
    if (coefficient == -1) {
      text += '-';
    } else if (coefficient != 1) {
      text += std::to_string(coefficient) + "*";
    }
    for (std::size_t i = 0; i < monomial.size(); ++i) {
      if (i != 0) text += '*';
      text += atoms[static_cast<std::size_t>(monomial[i])];
    }
  }
  return text;
}

Dim SymbolTable::Impl::Intern(Terms terms) {
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  if (terms.empty()) return Dim(0);
  if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
  if (terms.size() > kMaxTerms) return Dim();
  std::string text = Print(terms);
  if (text.size() > kMaxText) return Dim();
  auto [it, fresh] = expressions.try_emplace(text);
  if (fresh) {
    it->second = std::make_unique<DimExpr>();
    it->second->table = this;
    it->second->terms = std::move(terms);
    it->second->text = std::move(text);
  }
  return Dim(it->second.get());
}

std::string Dim::ToString() const {
  if (is_unknown()) return "?";
  return is_value() ? std::to_string(value_) : expr_->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_value() && b.is_value()) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a.value(), b.value(), &sum) ? Dim() : Dim(sum);
  }
  return Arithmetic(a, b, [](const Terms& x, const Terms& y) { return Combine(x, y, 1); });
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_value() && b.is_value()) {
    std::int64_t difference = 0;
    return __builtin_sub_overflow(a.value(), b.value(), &difference) ? Dim() : Dim(difference);
  }
  return Arithmetic(a, b, [](const Terms& x, const Terms& y) { return Combine(x, y, -1); });
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_value() && b.is_value()) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.value(), b.value(), &product) ? Dim() : Dim(product);
  }
  return Arithmetic(a, b, Multiply);
}

Dim FloorDiv(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown() || !Divisible(a, b)) return Dim();
  if (a.is_value() && b.is_value()) return Dim(FloorDivide(a.value(), b.value()));
  if (a == b) return Dim(1);
  if (const auto exact = ExactQuotient(a, b)) return *exact;
  return Opaque(TableOf(a, b), "floordiv", a, b);
}

Dim CeilDiv(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown() || !Divisible(a, b)) return Dim();
  if (a.is_value() && b.is_value()) {
    const std::int64_t q = FloorDivide(a.value(), b.value());
    return Dim(q * b.value() == a.value() ? q : q + 1);
  }
  if (a == b) return Dim(1);
  if (const auto exact = ExactQuotient(a, b)) return *exact;
  return Opaque(TableOf(a, b), "ceildiv", a, b);
}

Dim Modulo(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown() || !Divisible(a, b)) return Dim();
  if (a.is_value() && b.is_value()) {
    return Dim(a.value() - FloorDivide(a.value(), b.value()) * b.value());
  }
  if (a == b || ExactQuotient(a, b)) return Dim(0);
  return Opaque(TableOf(a, b), "mod", a, b);
}

bool IsNonNegative(const Dim& d) {
  if (d.is_value()) return d.value() >= 0;
  if (!d.is_symbolic()) return false;
  const std::vector<bool>& may_be_negative = d.expr()->table->atom_may_be_negative;
  for (const auto& [monomial, coefficient] : d.expr()->terms) {
    if (coefficient < 0) return false;
    for (int atom : monomial) {
      if (may_be_negative[static_cast<std::size_t>(atom)]) return false;
    }
  }
  return true;
}

Dim Min(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim();
  if (a.is_value() && b.is_value()) return Dim(std::min(a.value(), b.value()));
  if (IsNonNegative(a - b)) return b;
  if (IsNonNegative(b - a)) return a;
  const bool ordered = a.ToString() <= b.ToString();
  return Opaque(TableOf(a, b), "min", ordered ? a : b, ordered ? b : a);
}

Dim Max(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim();
  if (a.is_value() && b.is_value()) return Dim(std::max(a.value(), b.value()));
  if (IsNonNegative(a - b)) return a;
  if (IsNonNegative(b - a)) return b;
  const bool ordered = a.ToString() <= b.ToString();
  return Opaque(TableOf(a, b), "max", ordered ? a : b, ordered ? b : a);
}

Dim BroadcastDims(const Dim& a, const Dim& b, bool* mismatch) {
  *mismatch = false;
  if (a.is_value() && a.value() == 1) return b;
  if (b.is_value() && b.value() == 1) return a;
  if (a.is_value() && b.is_value()) {
    if (a.value() == b.value()) return a;
    *mismatch = true;
    return Dim();
  }
  if (a == b) return a;
  if (a.is_value()) return a;
  if (b.is_value()) return b;
  return Dim();
}

SymbolTable::SymbolTable() : impl_(std::make_unique<Impl>()) {}
SymbolTable::~SymbolTable() = default;

Dim SymbolTable::Symbol(std::string_view name) {
  Terms terms;
  terms[{impl_->Atom(std::string(name))}] = 1;
  return impl_->Intern(std::move(terms));
}

Dim SymbolTable::Fresh() {
  std::string name;
  do {
    name = "unk__" + std::to_string(impl_->next_fresh++);
  } while (impl_->atom_ids.count(name) != 0);
  return Symbol(name);
}

Dim SymbolTable::Parse(std::string_view text) {
  if (text.empty() || text == "?") return Dim();
  const auto known = impl_->expressions.find(std::string(text));
  if (known != impl_->expressions.end()) return Dim(known->second.get());
  const auto is_number = [](std::string_view s) {
    return !s.empty() && s.size() < 19 &&
           s.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string_view digits = text.front() == '-' ? text.substr(1) : text;
  if (is_number(digits)) return Dim(std::stoll(std::string(text)));
  // Sums of products of names and numbers; anything else is a name.
  if (text.find_first_of(" /()[]{}") != std::string_view::npos) return Symbol(text);
  Dim total(0);
  std::size_t at = 0;
  while (at < text.size()) {
    bool negative = false;
    if (text[at] == '+' || text[at] == '-') negative = text[at++] == '-';
    std::size_t end = text.find_first_of("+-", at);
    if (end == std::string_view::npos) end = text.size();
    Dim product(1);
    while (at <= end) {
      std::size_t stop = std::min(text.find('*', at), end);
      const std::string_view factor = text.substr(at, stop - at);
      if (factor.empty()) return Symbol(text);
      product =
          product * (is_number(factor) ? Dim(std::stoll(std::string(factor))) : Symbol(factor));
      at = stop + 1;
      if (stop == end) break;
    }
    total = negative ? total - product : total + product;
    at = end;
  }
  return total;
}

}  // namespace switchyard
