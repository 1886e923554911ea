// Tree ensembles of ai.onnx.ml: the operator of version 5 and the two before it.

#include <algorithm>
#include <cmath>
#include <limits>

#include "providers/cpu/kernels/ml/forest.h"
#include "providers/cpu/kernels/ml/scores.h"

namespace switchyard::cpu::kernels::tree_ensemble {
namespace {

using ml::Aggregate;
using ml::Branch;
using ml::ForestSpec;
using ml::PostTransform;

template <typename T>
void ExpectCount(const OpKernelInfo& info, const char* attribute, const T& values,
                 std::size_t expected) {
  if (values.size() == expected) return;
  info.Fail(std::string(attribute) + " has " + std::to_string(values.size()) +
            " entries, expected " + std::to_string(expected));
}

std::vector<double> TensorValues(const OpKernelInfo& info, const char* attribute,
                                 const Constant& constant) {
  const Tensor& tensor = constant.tensor();
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  if (!DispatchType(tensor.type(), NumericTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T* from = tensor.data<T>();
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<double>(Widen(from[i]));
        }
      })) {
    info.Fail(std::string(attribute) + " holds " + tensor.Describe());
  }
  return values;
}

// A list of floats, or from version 3 on the same as a tensor of doubles.
std::vector<double> Values(const OpKernelInfo& info, const std::string& attribute, bool* wide) {
  const std::string as_tensor = attribute + "_as_tensor";
  if (const ConstantPtr tensor = info.attributes().Tensor(as_tensor)) {
    *wide = *wide || tensor->type() == DataType::kDouble;
    return TensorValues(info, as_tensor.c_str(), *tensor);
  }
  const auto floats = info.attributes().Floats(attribute);
  return std::vector<double>(floats.begin(), floats.end());
}

// Positions by (tree id, node id).
class NodeIndex {
 public:
  NodeIndex(const OpKernelInfo& info, std::span<const std::int64_t> trees,
            std::span<const std::int64_t> nodes)
      : info_(info) {
    for (std::size_t i = 0; i < trees.size(); ++i) entries_.push_back({trees[i], nodes[i], i});
    std::sort(entries_.begin(), entries_.end());
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      const Entry &a = entries_[i - 1], &b = entries_[i];
      if (a.tree == b.tree && a.node == b.node) {
        info.Fail("node " + std::to_string(a.node) + " of tree " + std::to_string(a.tree) +
                  " is there twice");
      }
    }
  }

  std::size_t At(std::int64_t tree, std::int64_t node) const {
    const auto it = std::lower_bound(entries_.begin(), entries_.end(), Entry{tree, node, 0});
    if (it == entries_.end() || it->tree != tree || it->node != node) {
      info_.Fail("tree " + std::to_string(tree) + " has no node " + std::to_string(node));
    }
    return it->position;
  }

 private:
  struct Entry {
    std::int64_t tree, node;
    std::size_t position;
    auto operator<=>(const Entry&) const = default;
  };
  const OpKernelInfo& info_;
  std::vector<Entry> entries_;
};

bool BranchOf(const OpKernelInfo& info, const std::string& mode, ForestSpec::Node* node) {
  constexpr const char* kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  node->is_leaf = mode == "LEAF";
  if (node->is_leaf) return false;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (mode != kNames[i]) continue;
    node->branch = static_cast<Branch>(i);
    return true;
  }
  info.Fail("nodes_modes has the unknown mode '" + mode + "'");
}

// The form of TreeEnsembleClassifier and TreeEnsembleRegressor; `leaf` is "class" or "target".
class ListedTrees {
 public:
  ListedTrees(const OpKernelInfo& info, const std::string& leaf)
      : info_(info),
        trees_(info.attributes().Ints("nodes_treeids")),
        nodes_(info.attributes().Ints("nodes_nodeids")) {
    ExpectCount(info, "nodes_nodeids", nodes_, trees_.size());
    if (trees_.empty()) info.Fail("nodes_treeids is missing or empty");
    const NodeIndex index(info, trees_, nodes_);
    ReadNodes(index);
    ReadLeaves(index, leaf);
    FindRoots();
  }

  ForestSpec spec;
  bool wide = false;
  std::vector<std::int64_t> targets;  // of all weights

 private:
  void ReadNodes(const NodeIndex& index) {
    const Attributes& a = info_.attributes();
    const std::size_t count = trees_.size();
    const auto features = a.Ints("nodes_featureids");
    const auto on_true = a.Ints("nodes_truenodeids"), on_false = a.Ints("nodes_falsenodeids");
    const auto modes = a.Strings("nodes_modes");
    const auto missing = a.Ints("nodes_missing_value_tracks_true");
    const std::vector<double> splits = Values(info_, "nodes_values", &wide);
    ExpectCount(info_, "nodes_featureids", features, count);
    ExpectCount(info_, "nodes_truenodeids", on_true, count);
    ExpectCount(info_, "nodes_falsenodeids", on_false, count);
    ExpectCount(info_, "nodes_modes", modes, count);
    ExpectCount(info_, "nodes_values", splits, count);
    if (!missing.empty()) ExpectCount(info_, "nodes_missing_value_tracks_true", missing, count);
    spec.nodes.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      ForestSpec::Node& node = spec.nodes[i];
      if (!BranchOf(info_, modes[i], &node)) continue;
      node.feature = features[i];
      node.split = splits[i];
      node.missing_is_true = !missing.empty() && missing[i] != 0;
      node.on_true = index.At(trees_[i], on_true[i]);
      node.on_false = index.At(trees_[i], on_false[i]);
    }
  }

  void ReadLeaves(const NodeIndex& index, const std::string& leaf) {
    const Attributes& a = info_.attributes();
    const auto trees = a.Ints(leaf + "_treeids"), nodes = a.Ints(leaf + "_nodeids");
    const auto ids = a.Ints(leaf + "_ids");
    const std::vector<double> values = Values(info_, leaf + "_weights", &wide);
    ExpectCount(info_, (leaf + "_treeids").c_str(), trees, ids.size());
    ExpectCount(info_, (leaf + "_nodeids").c_str(), nodes, ids.size());
    ExpectCount(info_, (leaf + "_weights").c_str(), values, ids.size());
    targets.assign(ids.begin(), ids.end());
    std::vector<std::pair<std::size_t, std::size_t>> order;  // node, weight
    for (std::size_t w = 0; w < ids.size(); ++w) order.push_back({index.At(trees[w], nodes[w]), w});
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto [n, w] = order[i];
      ForestSpec::Node& node = spec.nodes[n];
      if (i == 0 || order[i - 1].first != n) node.first_weight = i;
      node.last_weight = i + 1;
      if (ids[w] < 0 || ids[w] > std::numeric_limits<std::int32_t>::max()) {
        info_.Fail(leaf + "_ids has " + std::to_string(ids[w]));
      }
      spec.weights.push_back({static_cast<std::int32_t>(ids[w]), values[w]});
    }
  }

  // A tree starts at its first node that is nobody's child.
  void FindRoots() {
    std::vector<bool> is_child(spec.nodes.size(), false);
    for (const ForestSpec::Node& node : spec.nodes) {
      if (node.is_leaf) continue;
      is_child[node.on_true] = is_child[node.on_false] = true;
    }
    std::vector<std::size_t> order(trees_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return trees_[a] < trees_[b]; });
    for (std::size_t i = 0; i < order.size();) {
      const std::int64_t tree = trees_[order[i]];
      std::size_t root = spec.nodes.size();
      for (; i < order.size() && trees_[order[i]] == tree; ++i) {
        if (!is_child[order[i]] && root == spec.nodes.size()) root = order[i];
      }
      if (root == spec.nodes.size()) {
        info_.Fail("the nodes of tree " + std::to_string(tree) + " form a cycle");
      }
      spec.roots.push_back(root);
    }
  }

  const OpKernelInfo& info_;
  std::span<const std::int64_t> trees_, nodes_;
};

std::unique_ptr<ml::Forest> MakeForest(const OpKernelInfo& info, const ForestSpec& spec,
                                       bool wide) {
  const DataType x = info.input_type(0).elem;
  const bool narrow_input = x == DataType::kFloat || x == DataType::kFloat16;
  try {
    return ml::Forest::Make(spec, wide || !narrow_input);
  } catch (const Error& error) {
    info.Fail(error.message(), error.code());
  }
}

// What the three operators do alike: shapes, scratch memory, float16 rows.
class ForestKernel : public OpKernel {
 public:
  void Prepare(PrepareContext& context) const override {
    const auto dims = context.input_dims(0);
    const std::int64_t rows = dims.size() == 2 ? dims[0] : 1;
    const std::int64_t cells = context.input_elem(0) == DataType::kFloat16 ? Product(dims) : 0;
    context.SetScratch(SumBytes(rows) + static_cast<std::size_t>(cells) * sizeof(float));
  }

 protected:
  ml::Rows Check(const OpKernelContext& context, const Tensor& x) const {
    const ml::Rows rows = ml::RowsOf(context, x);
    if (rows.count > 0 && rows.width <= forest_->max_feature()) {
      context.Fail("the trees ask for feature " + std::to_string(forest_->max_feature()) +
                   ", the input is " + x.Describe());
    }
    return rows;
  }

  void Run(OpKernelContext& context, const Tensor& x, const ml::Rows& rows,
           const std::function<void(std::int64_t, std::span<double>)>& finish) const {
    if (rows.count == 0) return;
    if (x.type() != DataType::kFloat16) {
      return forest_->Run(x, rows.count, rows.width, context.team(), context.scratch(), finish);
    }
    auto* floats =
        reinterpret_cast<float*>(static_cast<std::byte*>(context.scratch()) + SumBytes(rows.count));
    const Float16* from = x.data<Float16>();
    for (std::int64_t i = 0; i < x.size(); ++i) floats[i] = static_cast<float>(from[i]);
    const Tensor wide(DataType::kFloat, x.dims(), floats);
    forest_->Run(wide, rows.count, rows.width, context.team(), context.scratch(), finish);
  }

  std::unique_ptr<ml::Forest> forest_;
  PostTransform transform_ = PostTransform::kNone;

 private:
  std::size_t SumBytes(std::int64_t rows) const {
    return (forest_->ScratchBytes(rows) + 63) / 64 * 64;
  }
};

Aggregate AggregateOf(const OpKernelInfo& info) {
  const std::string name = info.attributes().String("aggregate_function", "SUM");
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "SUM") return Aggregate::kSum;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  info.Fail("aggregate_function '" + name + "' is none of AVERAGE, SUM, MIN, MAX");
}

std::int64_t TargetsOf(const OpKernelInfo& info) {
  const std::int64_t targets = info.attributes().Int("n_targets", 1);
  if (targets < 1 || targets > (std::int64_t{1} << 24)) {
    info.Fail("n_targets is " + std::to_string(targets));
  }
  return targets;
}

class Regressor final : public ForestKernel {
 public:
  explicit Regressor(OpKernelInfo& info) {
    ListedTrees trees(info, "target");
    trees.spec.targets = TargetsOf(info);
    trees.spec.aggregate = AggregateOf(info);
    base_ = Values(info, "base_values", &trees.wide);
    if (!base_.empty()) {
      ExpectCount(info, "base_values", base_, static_cast<std::size_t>(trees.spec.targets));
    }
    transform_ = ml::PostTransformOf(info);
    forest_ = MakeForest(info, trees.spec, trees.wide);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const ml::Rows rows = Check(context, x);
    const std::int64_t targets = forest_->targets();
    const std::int64_t dims[2] = {rows.count, targets};
    float* y = context.Output(0, dims).data_mutable<float>();
    Run(context, x, rows, [&](std::int64_t row, std::span<double> sums) {
      for (std::size_t t = 0; t < base_.size(); ++t) sums[t] += base_[t];
      ml::ApplyPostTransform(transform_, sums);
      for (std::size_t t = 0; t < sums.size(); ++t) {
        y[row * targets + static_cast<std::int64_t>(t)] = static_cast<float>(sums[t]);
      }
    });
  }

 private:
  std::vector<double> base_;
};

// Two classes and weights for only one of them: the sum s of those weights decides. Weights that
// are all positive and stay as they are give a probability, 1 - s and s; others a margin, -s and s.
class Classifier final : public ForestKernel {
 public:
  explicit Classifier(OpKernelInfo& info) : labels_(info, "classlabels_int64s") {
    if (labels_.size() == 0) info.Fail("has no class labels");
    ListedTrees trees(info, "class");
    trees.spec.targets = static_cast<std::int64_t>(labels_.size());
    base_ = Values(info, "base_values", &trees.wide);
    transform_ = ml::PostTransformOf(info);
    const auto& ids = trees.targets;
    binary_ = labels_.size() == 2 && !ids.empty() &&
              std::count(ids.begin(), ids.end(), ids[0]) == std::ssize(ids);
    if (binary_) voted_ = ids[0] == 1 ? 1 : 0;
    const bool positive = std::all_of(trees.spec.weights.begin(), trees.spec.weights.end(),
                                      [](const ml::LeafWeight& w) { return w.value >= 0; });
    probability_ =
        positive && (transform_ == PostTransform::kNone || transform_ == PostTransform::kProbit);
    if (!base_.empty() && !(binary_ && base_.size() == 1)) {
      ExpectCount(info, "base_values", base_, labels_.size());
    }
    forest_ = MakeForest(info, trees.spec, trees.wide);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const ml::Rows rows = Check(context, x);
    const auto classes = static_cast<std::int64_t>(labels_.size());
    const std::int64_t dims[2] = {rows.count, classes};
    Tensor* labels = context.has_output(0) ? &context.Output(0, {dims, 1}) : nullptr;
    float* z = context.has_output(1) ? context.Output(1, dims).data_mutable<float>() : nullptr;
    Run(context, x, rows, [&](std::int64_t row, std::span<double> sums) {
      const std::size_t top = binary_ ? Binary(sums) : Several(sums);
      if (labels != nullptr) labels_.Write(*labels, row, top);
      if (z == nullptr) return;
      ml::ApplyPostTransform(transform_, sums);
      for (std::size_t c = 0; c < sums.size(); ++c) {
        z[row * classes + static_cast<std::int64_t>(c)] = static_cast<float>(sums[c]);
      }
    });
  }

 private:
  std::size_t Binary(std::span<double> sums) const {
    const double s = sums[voted_] + (base_.empty() ? 0 : base_.back());
    sums[0] = probability_ ? 1 - s : -s;
    sums[1] = s;
    return s > (probability_ ? 0.5 : 0) ? 1 : 0;
  }
  std::size_t Several(std::span<double> sums) const {
    for (std::size_t c = 0; c < base_.size(); ++c) sums[c] += base_[c];
    return ml::ArgMax(sums);
  }

  ml::ClassLabels labels_;
  std::vector<double> base_;
  bool binary_ = false, probability_ = false;
  std::size_t voted_ = 0;
};

// TreeEnsemble's attributes: inner nodes and leaves in lists of their own, sets of members.
class SplitTrees {
 public:
  explicit SplitTrees(const OpKernelInfo& info) : info_(info) {
    modes_ = Required("nodes_modes");
    splits_ = Required("nodes_splits");
    leaves_ = Required("leaf_weights");
    const auto targets = info.attributes().Ints("leaf_targetids");
    ExpectCount(info, "leaf_targetids", targets, leaves_.size());
    ReadNodes();
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      ForestSpec::Node leaf;
      leaf.is_leaf = true;
      leaf.first_weight = i;
      leaf.last_weight = i + 1;
      spec.nodes.push_back(leaf);
      if (targets[i] < 0 || targets[i] > std::numeric_limits<std::int32_t>::max()) {
        info.Fail("leaf_targetids has " + std::to_string(targets[i]));
      }
      spec.weights.push_back({static_cast<std::int32_t>(targets[i]), leaves_[i]});
    }
    ExpandMembers();
    for (const std::int64_t root : info.attributes().Ints("tree_roots")) {
      spec.roots.push_back(Position("tree_roots", root, modes_.size()));
    }
    if (spec.roots.empty()) info.Fail("tree_roots is missing or empty");
  }

  ForestSpec spec;
  bool wide = false;

 private:
  static constexpr double kMember = 6;

  std::vector<double> Required(const char* name) {
    const ConstantPtr tensor = info_.attributes().Tensor(name);
    if (tensor == nullptr) info_.Fail(std::string(name) + " is missing");
    wide = wide || tensor->type() == DataType::kDouble;
    return TensorValues(info_, name, *tensor);
  }

  std::size_t Position(const char* name, std::int64_t value, std::size_t count) const {
    if (value < 0 || value >= static_cast<std::int64_t>(count)) {
      info_.Fail(std::string(name) + " has " + std::to_string(value) + ", there are " +
                 std::to_string(count));
    }
    return static_cast<std::size_t>(value);
  }

  void ReadNodes() {
    const Attributes& a = info_.attributes();
    const std::size_t count = modes_.size();
    const auto features = a.Ints("nodes_featureids");
    const auto on_true = a.Ints("nodes_truenodeids"), on_false = a.Ints("nodes_falsenodeids");
    const auto true_leaf = a.Ints("nodes_trueleafs"), false_leaf = a.Ints("nodes_falseleafs");
    const auto missing = a.Ints("nodes_missing_value_tracks_true");
    ExpectCount(info_, "nodes_splits", splits_, count);
    ExpectCount(info_, "nodes_featureids", features, count);
    ExpectCount(info_, "nodes_truenodeids", on_true, count);
    ExpectCount(info_, "nodes_falsenodeids", on_false, count);
    ExpectCount(info_, "nodes_trueleafs", true_leaf, count);
    ExpectCount(info_, "nodes_falseleafs", false_leaf, count);
    if (!missing.empty()) ExpectCount(info_, "nodes_missing_value_tracks_true", missing, count);
    const auto child = [&](const char* name, std::int64_t value, std::int64_t is_leaf) {
      return is_leaf != 0 ? count + Position(name, value, leaves_.size())
                          : Position(name, value, count);
    };
    for (std::size_t i = 0; i < count; ++i) {
      ForestSpec::Node node;
      if (!(modes_[i] >= 0 && modes_[i] <= kMember)) {
        info_.Fail("nodes_modes has " + std::to_string(modes_[i]));
      }
      node.branch = modes_[i] == kMember ? Branch::kEq : static_cast<Branch>(modes_[i]);
      node.feature = features[i];
      node.split = splits_[i];
      node.missing_is_true = !missing.empty() && missing[i] != 0;
      node.on_true = child("nodes_truenodeids", on_true[i], true_leaf[i]);
      node.on_false = child("nodes_falsenodeids", on_false[i], false_leaf[i]);
      spec.nodes.push_back(node);
    }
  }

  // A set becomes a chain of comparisons that share the true branch.
  void ExpandMembers() {
    std::vector<double> members;
    if (const ConstantPtr tensor = info_.attributes().Tensor("membership_values")) {
      members = TensorValues(info_, "membership_values", *tensor);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i] != kMember) continue;
      if (next > members.size() || members.empty()) {
        info_.Fail("membership_values has fewer sets than there are nodes of mode BRANCH_MEMBER");
      }
      std::size_t at = i;
      const std::size_t on_false = spec.nodes[i].on_false;
      spec.nodes[i].split = std::numeric_limits<double>::quiet_NaN();
      for (bool first = true; next < members.size() && !std::isnan(members[next]); first = false) {
        if (!first) {
          spec.nodes.push_back(spec.nodes[at]);
          spec.nodes[at].on_false = spec.nodes.size() - 1;
          at = spec.nodes.size() - 1;
        }
        spec.nodes[at].split = members[next++];
        spec.nodes[at].on_false = on_false;
      }
      ++next;  // the NaN behind the set
    }
  }

  const OpKernelInfo& info_;
  std::vector<double> modes_, splits_, leaves_;
};

class Ensemble final : public ForestKernel {
 public:
  explicit Ensemble(OpKernelInfo& info) {
    SplitTrees trees(info);
    trees.spec.targets = TargetsOf(info);
    const std::int64_t aggregate = info.attributes().Int("aggregate_function", 1);
    const std::int64_t transform = info.attributes().Int("post_transform", 0);
    if (aggregate < 0 || aggregate > 3) {
      info.Fail("aggregate_function is " + std::to_string(aggregate));
    }
    if (transform < 0 || transform > 4) info.Fail("post_transform is " + std::to_string(transform));
    trees.spec.aggregate = static_cast<Aggregate>(aggregate);
    transform_ = static_cast<PostTransform>(transform);
    forest_ = MakeForest(info, trees.spec, trees.wide);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const ml::Rows rows = Check(context, x);
    const std::int64_t targets = forest_->targets();
    const std::int64_t dims[2] = {rows.count, targets};
    Tensor& y = context.Output(0, dims);
    DispatchType(y.type(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = y.data_mutable<T>();
      Run(context, x, rows, [&](std::int64_t row, std::span<double> sums) {
        ml::ApplyPostTransform(transform_, sums);
        for (std::size_t t = 0; t < sums.size(); ++t) {
          to[row * targets + static_cast<std::int64_t>(t)] =
              Narrow<T>(static_cast<ComputeOf<T>>(sums[t]));
        }
      });
    });
  }
};

}  // namespace

void Register(KernelRegistry& registry) {
  registry.Register(KernelCreateInfo::For("TreeEnsembleClassifier", "ai.onnx.ml")
                        .Input(0, ml::kRowTypes)
                        .Make<Classifier>());
  registry.Register(KernelCreateInfo::For("TreeEnsembleRegressor", "ai.onnx.ml")
                        .Input(0, ml::kRowTypes)
                        .Make<Regressor>());
  registry.Register(
      KernelCreateInfo::For("TreeEnsemble", "ai.onnx.ml")
          .Input(0, DataType::kFloat | DataType::kDouble | TypeSet(DataType::kFloat16))
          .Make<Ensemble>());
}

}  // namespace switchyard::cpu::kernels::tree_ensemble
