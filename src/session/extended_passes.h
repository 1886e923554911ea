#pragma once
// The level-2 fusions, for providers to pick from.

#include <string_view>
#include <vector>

#include "switchyard/ep/execution_provider.h"

namespace switchyard {

class ExtendedPasses final : public GraphOptimizerRegistry {
 public:
  ExtendedPasses();
  const Pass* Find(std::string_view name) const override;
  std::vector<std::string_view> names() const override;

 private:
  PassRegistry registry_;
};

}  // namespace switchyard
