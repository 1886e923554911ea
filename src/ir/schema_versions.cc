#include "ir/schema_versions.h"

#include <algorithm>

namespace switchyard {
namespace {

bool SameFormals(std::span<const FormalParameter> a, std::span<const FormalParameter> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const FormalParameter& x, const FormalParameter& y) {
                      return x.name == y.name && x.option == y.option;
                    });
}

bool SameAttribute(const AttributeDef& a, const AttributeDef& b) {
  return a.type == b.type && a.required == b.required && a.has_default == b.has_default &&
         a.i == b.i && a.f == b.f && a.s == b.s &&
         std::equal(a.ints.begin(), a.ints.end(), b.ints.begin(), b.ints.end()) &&
         std::equal(a.floats.begin(), a.floats.end(), b.floats.begin(), b.floats.end());
}

}  // namespace

bool SameSignature(const OpSchema& older, const OpSchema& newer, bool new_defaults) {
  if (!SameFormals(older.inputs, newer.inputs) || !SameFormals(older.outputs, newer.outputs)) {
    return false;
  }
  for (const AttributeDef& attribute : newer.attributes) {
    const AttributeDef* known = older.Attribute(attribute.name);
    if (known == nullptr ? !(new_defaults && attribute.has_default)
                         : !SameAttribute(*known, attribute)) {
      return false;
    }
  }
  return std::all_of(older.attributes.begin(), older.attributes.end(),
                     [&](const AttributeDef& a) { return newer.Attribute(a.name) != nullptr; });
}

}  // namespace switchyard
