#pragma once
// Comparing versions of one operator.

#include "switchyard/ir/schema.h"

namespace switchyard {

// Whether both have the same formals and attributes; types aside. With `new_defaults` the newer may
// have more attributes if they have defaults. Not a proof that they mean the same: RoiAlign 16, for
// one, added an attribute whose default is not what 10 does.
bool SameSignature(const OpSchema& older, const OpSchema& newer, bool new_defaults);

}  // namespace switchyard
