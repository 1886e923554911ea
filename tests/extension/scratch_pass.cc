// Copied to src/passes/basic: nothing else is edited.

#include "switchyard/ir/rewrite/pass.h"

namespace switchyard::passes::basic::scratch_pass {
namespace {

class ScratchPass final : public Pass {
 public:
  std::string_view name() const override { return "scratch_pass"; }
  PassStage stage() const override { return PassStage::kBasic; }
  std::optional<Patch> Propose(const Graph&, const Node&, PassContext&) const override {
    return std::nullopt;
  }
};

}  // namespace

void Register(PassRegistry& registry);
void Register(PassRegistry& registry) { registry.Register(std::make_unique<ScratchPass>()); }

}  // namespace switchyard::passes::basic::scratch_pass
