#include "switchyard/ir/rewrite/pass.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_map>

#include "base/time_limit.h"
#include "switchyard/base/error.h"

namespace switchyard {

Pass::~Pass() = default;

void PassRegistry::Register(std::unique_ptr<Pass> pass) {
  for (const auto& known : passes_) {
    if (known->name() == pass->name()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a pass named '" + std::string(pass->name()) + "' is registered already");
    }
  }
  passes_.push_back(std::move(pass));
}

void PassPipeline::Add(const Pass& pass) {
  order_.push_back(&pass);
  Sort();
}

void PassPipeline::Add(std::unique_ptr<Pass> pass) {
  owned_.push_back(std::shared_ptr<const Pass>(std::move(pass)));
  Add(*owned_.back());
}

// As added, but each after those it names.
void PassPipeline::Sort() {
  std::vector<const Pass*> waiting = std::move(order_);
  order_.clear();
  const auto is_waiting = [&](std::string_view name) {
    return std::any_of(waiting.begin(), waiting.end(),
                       [&](const Pass* pass) { return pass != nullptr && pass->name() == name; });
  };
  for (std::size_t left = waiting.size(); left > 0; --left) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](const Pass* pass) {
      if (pass == nullptr) return false;
      const auto after = pass->after();
      return std::none_of(after.begin(), after.end(), is_waiting);
    });
    if (next == waiting.end()) {
      throw Error(ErrorCode::kInvalidArgument, "passes name each other in a circle as 'after'");
    }
    order_.push_back(*next);
    *next = nullptr;
  }
}

std::vector<std::string_view> PassPipeline::names() const {
  std::vector<std::string_view> result;
  for (const Pass* pass : order_) result.push_back(pass->name());
  return result;
}

namespace {

using Limits = PassPipeline::Limits;

class Runner {
 public:
  Runner(std::span<const Pass* const> passes, PassContext& context, const Limits& limits,
         std::int64_t* patches_left)
      : context_(context), limits_(limits), patches_left_(patches_left) {
    for (const Pass* pass : passes) {
      PassResult result;
      result.name = pass->name();
      results_.push_back(std::move(result));
      const bool off = pass->exactness() > limits.admitted || pass->stage() > limits.up_to ||
                       std::find(limits.disabled.begin(), limits.disabled.end(), pass->name()) !=
                           limits.disabled.end();
      passes_.push_back(off ? nullptr : pass);
      if (!off) IndexRoots(*pass, passes_.size() - 1);
    }
  }

  // Whether anything changed.
  bool Run(Graph& graph) {
    Pending pending(passes_.size());
    for (NodeIndex index : graph.TopologicalOrder()) Mark(graph, index, &pending);
    bool any = false;
    for (int sweep = 0; sweep < limits_.max_sweeps && !Stopped(); ++sweep) {
      bool changed = false;
      for (std::size_t p = 0; p < passes_.size() && !Stopped(); ++p) {
        if (passes_[p] != nullptr && !pending[p].empty()) changed |= RunPass(graph, p, &pending);
      }
      changed |= RunBodies(graph, &pending, sweep == 0);
      any |= changed;
      if (!changed) break;
    }
    return any;
  }

  const std::vector<PassResult>& results() const { return results_; }

 private:
  using Pending = std::vector<std::set<NodeIndex>>;  // per pass: nodes it has yet to look at

  void IndexRoots(const Pass& pass, std::size_t p) {
    const auto roots = pass.roots();
    if (roots.empty()) everywhere_.push_back(p);
    for (std::string_view root : roots) by_root_[std::string(root)].push_back(p);
  }

  void Mark(const Graph& graph, NodeIndex index, Pending* pending) const {
    const Node* node = graph.node(index);
    if (node == nullptr) return;
    for (std::size_t p : everywhere_) (*pending)[p].insert(index);
    const auto at = by_root_.find(node->OpType());
    if (at == by_root_.end()) return;
    for (std::size_t p : at->second) (*pending)[p].insert(index);
  }

  bool Stopped() const { return patches_left_ != nullptr && *patches_left_ == 0; }

  bool RunPass(Graph& graph, std::size_t p, Pending* pending) {
    const auto start = std::chrono::steady_clock::now();
    const int before = results_[p].applied;
    // A pass that undoes its own edits would never come to an end.
    int budget = static_cast<int>(graph.node_count()) * 4 + 1000;
    while (!(*pending)[p].empty() && budget > 0 && !Stopped()) {
      std::set<NodeIndex> batch;
      std::swap(batch, (*pending)[p]);
      for (NodeIndex index : InOrder(graph, batch)) {
        const Node* node = graph.node(index);
        if (node == nullptr || Stopped()) continue;
        if (context_.may_touch && !context_.may_touch(*node)) continue;
        if (TryNode(graph, p, *node, pending)) --budget;
      }
    }
    if (budget <= 0) Say(Severity::kWarning, results_[p].name + ": stopped: it finds no end");
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    results_[p].milliseconds += spent.count();
    const bool changed = results_[p].applied != before;
    if (changed && limits_.verify_each_pass) Verify(graph, results_[p].name);
    return changed;
  }

  static std::vector<NodeIndex> InOrder(const Graph& graph, const std::set<NodeIndex>& batch) {
    std::vector<NodeIndex> result;
    if (batch.size() == 1) {
      result.assign(batch.begin(), batch.end());
      return result;
    }
    for (NodeIndex index : graph.TopologicalOrder()) {
      if (batch.contains(index)) result.push_back(index);
    }
    return result;
  }

  bool TryNode(Graph& graph, std::size_t p, const Node& node, Pending* pending) {
    CheckTimeLimit();
    std::optional<Patch> patch = passes_[p]->Propose(graph, node, context_);
    if (!patch || patch->empty()) return false;
    const std::string about = node.Describe();
    if (context_.may_touch) {
      for (NodeIndex index : patch->edited_nodes()) {
        if (graph.node(index) != nullptr && !context_.may_touch(*graph.node(index))) return false;
      }
    }
    const Patch::Result result =
        std::move(*patch).Commit(graph, context_.inference, context_.refuse_node);
    if (!result.refused.empty()) {
      ++results_[p].refused;
      Say(Severity::kVerbose, results_[p].name + " at " + about + ": refused: " + result.refused);
      return false;
    }
    ++results_[p].applied;
    if (patches_left_ != nullptr && *patches_left_ > 0) --*patches_left_;
    Say(Severity::kVerbose, results_[p].name + " at " + about);
    for (NodeIndex index : result.touched) {
      Mark(graph, index, pending);
      if (graph.node(index)->has_body()) revisit_.insert(graph.node(index));
    }
    if (context_.on_applied) context_.on_applied(graph, result);
    return true;
  }

  bool RunBodies(Graph& graph, Pending* pending, bool first) {
    bool changed = false;
    const auto order = graph.TopologicalOrder();
    for (NodeIndex index : std::vector<NodeIndex>(order.begin(), order.end())) {
      Node* node = graph.node(index);
      if (!node->has_body() || (context_.may_touch && !context_.may_touch(*node))) continue;
      if (!first && !revisit_.contains(node)) continue;
      bool inside = false;
      for (const auto& [name, body] : node->bodies()) {
        const bool now = Run(*body);
        if (now) body->RemoveUnusedValues();
        inside |= now;
      }
      if (!inside) continue;
      changed = true;
      revisit_.insert(node);
      for (const NodeArg* outer : node->implicit_inputs()) {
        if (outer->producer() != kNoNode) Mark(graph, outer->producer(), pending);
      }
      graph.UpdateImplicitInputs(node);
      try {
        InferNode(graph, *node, context_.inference);
      } catch (const Error&) {
        // What is known already stays; the Run will tell.
      }
      Mark(graph, index, pending);
      for (const NodeArg* output : node->outputs()) {
        if (output == nullptr) continue;
        for (NodeIndex user : output->consumers()) Mark(graph, user, pending);
      }
    }
    return changed;
  }

  static void Verify(const Graph& graph, const std::string& after) {
    try {
      VerifyGraph(graph);
    } catch (const Error& error) {
      throw Error(ErrorCode::kEngineError, "after pass '" + after + "': " + error.message());
    }
  }

  void Say(Severity severity, const std::string& text) const {
    if (context_.log) context_.log(severity, text);
  }

  PassContext& context_;
  const Limits& limits_;
  std::int64_t* patches_left_;
  std::vector<const Pass*> passes_;
  std::vector<PassResult> results_;
  std::vector<std::size_t> everywhere_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_root_;
  std::set<const Node*> revisit_;
};

}  // namespace

std::vector<PassResult> PassPipeline::Run(Graph& graph, PassContext& context, const Limits& limits,
                                          std::int64_t* patches_left) const {
  std::int64_t own = limits.stop_after;
  Runner runner(order_, context, limits, patches_left != nullptr ? patches_left : &own);
  const bool changed = runner.Run(graph);
  if (changed) {
    graph.RemoveUnusedValues();
    try {
      VerifyGraph(graph);
    } catch (const Error& error) {
      std::string passes;
      for (const PassResult& result : runner.results()) {
        if (result.applied != 0) passes += (passes.empty() ? "" : ", ") + result.name;
      }
      throw Error(ErrorCode::kEngineError, "after passes " + passes + ": " + error.message());
    }
  }
  return runner.results();
}

}  // namespace switchyard
