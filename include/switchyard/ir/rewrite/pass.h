#pragma once
// A pass proposes patches; the pipeline applies, counts, times, limits and verifies them.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/base/logging.h"
#include "switchyard/ir/graph_viewer.h"
#include "switchyard/ir/rewrite/patch.h"

namespace switchyard {

// How far a rewrite may move results: same bits; fp32 re-association; narrower operands.
enum class Exactness { kExact, kRounding, kApproximate };
// The level at which it takes part (GraphOptimizationLevel).
enum class PassStage { kBasic, kExtended, kLayout, kAll };

// Runs one node on constant inputs; nullopt when nothing can. Injected: passes know no kernels.
using NodeEvaluator = std::function<std::optional<std::vector<Tensor>>(
    const Node& node, const Graph& graph, std::span<const Tensor* const> inputs)>;

struct PassContext {
  explicit PassContext(const InferenceRegistry& registry) : inference(registry) {}

  const InferenceRegistry& inference;
  NodeEvaluator evaluate;  // may be empty
  // Provider passes: true if this node belongs to the partition that the pass may touch.
  std::function<bool(const Node&)> may_touch;  // empty: all
  // Says of a node that a pass wants to create why it may not be; "": fine. Empty: no check.
  Patch::NodeCheck refuse_node;
  // Told after each patch, with the graph it changed.
  std::function<void(const Graph&, const Patch::Result&)> on_applied;
  std::function<void(Severity, std::string_view)> log;  // empty: nowhere
  std::size_t max_fold_bytes = std::size_t{64} << 20;
  std::vector<std::pair<std::string, std::int64_t>> free_dimension_overrides_by_name;
  std::vector<std::pair<std::string, std::int64_t>> free_dimension_overrides_by_denotation;
};

class SWITCHYARD_API Pass {
 public:
  virtual ~Pass();
  virtual std::string_view name() const = 0;
  virtual PassStage stage() const = 0;
  virtual Exactness exactness() const { return Exactness::kExact; }
  // Names of passes that must have run before.
  virtual std::vector<std::string_view> after() const { return {}; }
  // Operators whose nodes it wants to see; empty: every node.
  virtual std::vector<std::string_view> roots() const { return {}; }
  // Proposes an edit around `node`, or nothing. Called for nodes in topological order, repeated
  // until nothing changes.
  virtual std::optional<Patch> Propose(const Graph& graph, const Node& node,
                                       PassContext& context) const = 0;
};

class SWITCHYARD_API PassRegistry {
 public:
  void Register(std::unique_ptr<Pass> pass);
  std::span<const std::unique_ptr<Pass>> passes() const { return passes_; }

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
};

struct PassResult {
  std::string name;
  int applied = 0;
  int refused = 0;
  double milliseconds = 0;
};

// Runs passes over a graph and its bodies until none finds anything more. Throws EngineError naming
// the pass when the verifier finds the graph broken afterwards.
class SWITCHYARD_API PassPipeline {
 public:
  struct Limits {
    std::vector<std::string> disabled;  // names
    Exactness admitted = Exactness::kRounding;
    PassStage up_to = PassStage::kAll;  // passes of later stages do not run
    std::int64_t stop_after = -1;       // patches over the whole session, -1: no limit
    int max_sweeps = 10;                // how often each pass may look at what others changed
    bool verify_each_pass = false;
  };

  // Passes are owned elsewhere and must outlive the pipeline, except those added with ownership.
  void Add(const Pass& pass);
  void Add(std::unique_ptr<Pass> pass);
  std::size_t size() const { return order_.size(); }
  std::span<const Pass* const> passes() const { return order_; }  // in the order they run
  std::vector<std::string_view> names() const;                    // in the order they run
  // patches_left counts down from limits.stop_after across pipelines; may be nullptr.
  std::vector<PassResult> Run(Graph& graph, PassContext& context, const Limits& limits,
                              std::int64_t* patches_left) const;

 private:
  void Sort();
  std::vector<const Pass*> order_;
  std::vector<std::shared_ptr<const Pass>> owned_;
};

class OpSchemaRegistry;

// Throws InvalidGraph (loaded graphs) saying what is broken: dangling ids, wrong producer or
// consumer lists, duplicate names, cycles, arity or types against the schemas (nullptr: the
// built-in ones; operators without schema are not checked), bodies included.
SWITCHYARD_API void VerifyGraph(const Graph& graph, const OpSchemaRegistry* schemas = nullptr);

}  // namespace switchyard
