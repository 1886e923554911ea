#include "providers/cpu/kernels/ml/forest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "switchyard/base/error.h"

namespace switchyard::cpu::ml {
namespace {

constexpr std::int64_t kRowBlock = 64;  // rows that see a tree while it is in the cache
constexpr std::int64_t kFewRows = 16;   // below: the trees are shared out, not the rows
constexpr std::size_t kTreesPerChunk = 32;
constexpr int kChains = 8;  // rows that descend side by side

[[noreturn]] void Refuse(const std::string& text) { throw Error(ErrorCode::kInvalidGraph, text); }

// Each node's children lie side by side; the descent goes to `next` or to the one after it. Leaves
// come back to themselves.
template <typename T>
struct FlatNode {
  T split;
  std::int32_t feature;
  std::int32_t next;
  std::uint32_t bits;
};
constexpr std::uint32_t kInner = 1;        // not a leaf
constexpr std::uint32_t kStrict = 2;       // left if x < split, else left if x <= split
constexpr std::uint32_t kEqual = 4;        // left if x == split
constexpr std::uint32_t kMissingLeft = 8;  // NaN goes left

enum class Kind { kLeq, kLt, kLeqMissing, kMixed };

// A descent counts no steps: that it ends is made sure of here, once.
void CheckAcyclic(const ForestSpec& spec) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> colour(spec.nodes.size(), kNew);
  std::vector<std::size_t> stack;
  for (const std::size_t root : spec.roots) {
    if (root >= spec.nodes.size()) Refuse("a tree starts at a node that does not exist");
  }
  // Nodes that no root reaches too: a cycle among them says that the lists lie.
  for (std::size_t start = 0; start < spec.nodes.size(); ++start) {
    stack.push_back(start);
    while (!stack.empty()) {
      const std::size_t n = stack.back();
      const ForestSpec::Node& node = spec.nodes[n];
      if (colour[n] != kNew || node.is_leaf) {
        colour[n] = kDone;
        stack.pop_back();
        continue;
      }
      colour[n] = kOpen;
      for (const std::size_t child : {node.on_true, node.on_false}) {
        if (child >= spec.nodes.size()) Refuse("a tree node has a child that does not exist");
        if (colour[child] == kOpen) Refuse("the tree nodes form a cycle");
        if (colour[child] == kNew) stack.push_back(child);
      }
    }
  }
}

std::int64_t MaxFeature(const ForestSpec& spec) {
  std::int64_t most = 0;
  for (const ForestSpec::Node& node : spec.nodes) {
    if (node.is_leaf) continue;
    if (node.feature < 0 || node.feature > std::numeric_limits<std::int32_t>::max()) {
      Refuse("a tree node asks for feature " + std::to_string(node.feature));
    }
    most = std::max(most, node.feature);
  }
  return most;
}

template <typename T>
class FlatForest final : public Forest {
 public:
  explicit FlatForest(const ForestSpec& spec)
      : Forest(spec, MaxFeature(spec)), weights_(spec.weights) {
    if (spec.nodes.size() > (std::size_t{1} << 29)) Refuse("too many tree nodes");
    for (const LeafWeight& w : weights_) {
      if (w.target < 0 || w.target >= targets_) {
        Refuse("a leaf speaks for target " + std::to_string(w.target) + " of " +
               std::to_string(targets_));
      }
    }
    Lay(spec);
    Classify();
  }

 protected:
  void AddTrees(const Tensor& x, std::int64_t first_row, std::int64_t last_row, std::int64_t width,
                std::size_t first_tree, std::size_t last_tree, double* sums) const override {
    const auto run = [&](auto* data) {
      const auto* rows = data + first_row * width;
      const std::int64_t count = last_row - first_row;
      for (std::size_t t = first_tree; t < last_tree; ++t) {
        switch (kind_) {
          case Kind::kLeq:
            AddTree<Kind::kLeq>(rows, count, width, roots_[t], sums);
            break;
          case Kind::kLt:
            AddTree<Kind::kLt>(rows, count, width, roots_[t], sums);
            break;
          case Kind::kLeqMissing:
            AddTree<Kind::kLeqMissing>(rows, count, width, roots_[t], sums);
            break;
          case Kind::kMixed:
            AddTree<Kind::kMixed>(rows, count, width, roots_[t], sums);
            break;
        }
      }
    };
    switch (x.type()) {
      case DataType::kFloat:
        return run(x.data<float>());
      case DataType::kDouble:
        return run(x.data<double>());
      case DataType::kInt32:
        return run(x.data<std::int32_t>());
      case DataType::kInt64:
        return run(x.data<std::int64_t>());
      default:
        throw Error(ErrorCode::kNotImplemented, "trees over " + x.Describe());
    }
  }

 private:
  using Flat = FlatNode<T>;

  // Children pairs in depth-first order, once per inner node however many parents share it.
  void Lay(const ForestSpec& spec) {
    std::vector<std::int32_t> pair_of(spec.nodes.size(), -1);
    std::vector<std::size_t> source;  // flat node to its node in spec
    const auto place = [&](std::size_t from) {
      nodes_.push_back(Translate(spec.nodes[from]));
      source.push_back(from);
    };
    std::vector<std::size_t> open;
    for (const std::size_t root : spec.roots) {
      roots_.push_back(static_cast<std::int32_t>(nodes_.size()));
      open.push_back(nodes_.size());
      place(root);
      while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        const ForestSpec::Node& node = spec.nodes[source[at]];
        if (node.is_leaf) {
          nodes_[at].next = static_cast<std::int32_t>(at);
          continue;
        }
        std::int32_t& pair = pair_of[source[at]];
        if (pair < 0) {
          pair = static_cast<std::int32_t>(nodes_.size());
          const bool swapped = Swaps(node.branch);
          place(swapped ? node.on_false : node.on_true);
          place(swapped ? node.on_true : node.on_false);
          open.push_back(static_cast<std::size_t>(pair) + 1);
          open.push_back(static_cast<std::size_t>(pair));
        }
        nodes_[at].next = pair;
      }
    }
    leaf_weights_.reserve(nodes_.size());
    for (const std::size_t from : source) {
      const ForestSpec::Node& node = spec.nodes[from];
      const bool has = node.is_leaf;
      leaf_weights_.push_back({static_cast<std::int32_t>(has ? node.first_weight : 0),
                               static_cast<std::int32_t>(has ? node.last_weight : 0)});
    }
  }

  // x > s is not (x <= s), x >= s is not (x < s), x != s is not (x == s): the children swap.
  static bool Swaps(Branch branch) {
    return branch == Branch::kGt || branch == Branch::kGte || branch == Branch::kNeq;
  }

  static Flat Translate(const ForestSpec::Node& node) {
    if (node.is_leaf) return {T(0), 0, 0, 0};
    Flat flat{static_cast<T>(node.split), static_cast<std::int32_t>(node.feature), 0, kInner};
    if (node.branch == Branch::kLt || node.branch == Branch::kGte) flat.bits |= kStrict;
    if (node.branch == Branch::kEq || node.branch == Branch::kNeq) flat.bits |= kEqual;
    if (node.missing_is_true != Swaps(node.branch)) flat.bits |= kMissingLeft;
    // No number compares with NaN as its threshold: the test fails, as it does unswapped.
    if (Swaps(node.branch) && node.branch != Branch::kNeq && flat.split != flat.split) {
      flat.split = std::numeric_limits<T>::infinity();
      flat.bits &= ~kStrict;
    }
    return flat;
  }

  void Classify() {
    bool leq = true, lt = true, leq_missing = true;
    for (const Flat& node : nodes_) {
      if ((node.bits & kInner) == 0) continue;
      leq = leq && node.bits == kInner;
      lt = lt && node.bits == (kInner | kStrict);
      leq_missing = leq_missing && (node.bits & ~kMissingLeft) == kInner;
    }
    kind_ = leq ? Kind::kLeq : lt ? Kind::kLt : leq_missing ? Kind::kLeqMissing : Kind::kMixed;
    single_ = targets_ == 1 && (aggregate_ == Aggregate::kSum || aggregate_ == Aggregate::kAverage);
    if (!single_) return;
    leaf_values_.assign(nodes_.size(), 0);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      for (std::int32_t w = leaf_weights_[n].first; w < leaf_weights_[n].second; ++w) {
        leaf_values_[n] += weights_[static_cast<std::size_t>(w)].value;
      }
    }
  }

  template <Kind kKind>
  static std::uint32_t GoesRight(const Flat& node, T x) {
    if constexpr (kKind == Kind::kLeq) return static_cast<std::uint32_t>(!(x <= node.split));
    if constexpr (kKind == Kind::kLt) return static_cast<std::uint32_t>(!(x < node.split));
    if constexpr (kKind == Kind::kLeqMissing) {
      const auto above = static_cast<std::uint32_t>(!(x <= node.split));
      return above & ~(static_cast<std::uint32_t>(x != x) & node.bits >> 3);
    }
    const std::uint32_t bits = node.bits;
    const auto below = static_cast<std::uint32_t>(x < node.split);
    const auto equal = static_cast<std::uint32_t>(x == node.split);
    const auto missing = static_cast<std::uint32_t>(x != x);
    const std::uint32_t strict = bits >> 1 & 1, exact = bits >> 2 & 1, lost = bits >> 3 & 1;
    const std::uint32_t left = (below & ~exact) | (equal & ~strict) | (missing & lost);
    return ~left & 1;
  }

  template <Kind kKind, typename X>
  void AddTree(const X* rows, std::int64_t count, std::int64_t width, std::int32_t root,
               double* sums) const {
    const Flat* nodes = nodes_.data();
    std::int64_t r = 0;
    for (; r + kChains <= count; r += kChains) {
      const X* row[kChains];
      std::int32_t at[kChains];
      for (int c = 0; c < kChains; ++c) {
        row[c] = rows + (r + c) * width;
        at[c] = root;
      }
      std::uint32_t inner;
      do {
        inner = 0;
        for (int c = 0; c < kChains; ++c) {
          const Flat& node = nodes[at[c]];
          const std::uint32_t is_inner = node.bits & kInner;
          const std::uint32_t right =
              GoesRight<kKind>(node, static_cast<T>(row[c][node.feature])) & is_inner;
          at[c] = node.next + static_cast<std::int32_t>(right);
          inner |= is_inner;
        }
      } while (inner != 0);
      for (int c = 0; c < kChains; ++c) AddLeaf(at[c], sums + (r + c) * targets_);
    }
    for (; r < count; ++r) {
      const X* row = rows + r * width;
      std::int32_t at = root;
      while ((nodes[at].bits & kInner) != 0) {
        const Flat& node = nodes[at];
        at = node.next +
             static_cast<std::int32_t>(GoesRight<kKind>(node, static_cast<T>(row[node.feature])));
      }
      AddLeaf(at, sums + r * targets_);
    }
  }

  void AddLeaf(std::int32_t leaf, double* sums) const {
    const auto n = static_cast<std::size_t>(leaf);
    if (single_) {
      sums[0] += leaf_values_[n];
      return;
    }
    for (std::int32_t w = leaf_weights_[n].first; w < leaf_weights_[n].second; ++w) {
      const LeafWeight& weight = weights_[static_cast<std::size_t>(w)];
      double& sum = sums[weight.target];
      switch (aggregate_) {
        case Aggregate::kMin:
          sum = std::min(sum, weight.value);
          break;
        case Aggregate::kMax:
          sum = std::max(sum, weight.value);
          break;
        default:
          sum += weight.value;
      }
    }
  }

  std::vector<Flat> nodes_;
  std::vector<std::int32_t> roots_;
  std::vector<std::pair<std::int32_t, std::int32_t>> leaf_weights_;
  std::vector<double> leaf_values_;
  std::vector<LeafWeight> weights_;
  Kind kind_ = Kind::kMixed;
  bool single_ = false;
};

}  // namespace

Forest::Forest(const ForestSpec& spec, std::int64_t max_feature)
    : targets_(spec.targets),
      max_feature_(max_feature),
      trees_(spec.roots.size()),
      aggregate_(spec.aggregate) {
  CheckAcyclic(spec);
}

Forest::~Forest() = default;

std::unique_ptr<Forest> Forest::Make(const ForestSpec& spec, bool wide) {
  if (wide) return std::make_unique<FlatForest<double>>(spec);
  return std::make_unique<FlatForest<float>>(spec);
}

std::size_t Forest::ScratchBytes(std::int64_t rows) const {
  const std::size_t copies =
      rows < kFewRows ? std::max<std::size_t>(1, (trees_ + kTreesPerChunk - 1) / kTreesPerChunk)
                      : 1;
  return copies * static_cast<std::size_t>(rows * targets_) * sizeof(double);
}

double Forest::Start() const {
  switch (aggregate_) {
    case Aggregate::kMin:
      return std::numeric_limits<double>::infinity();
    case Aggregate::kMax:
      return -std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

void Forest::Finish(double* sums) const {
  for (std::int64_t t = 0; t < targets_; ++t) {
    if (aggregate_ == Aggregate::kAverage) sums[t] /= static_cast<double>(trees_);
    if (aggregate_ != Aggregate::kSum && sums[t] == Start()) sums[t] = 0;
  }
}

void Forest::Run(
    const Tensor& x, std::int64_t rows, std::int64_t width, ThreadTeam& team, void* scratch,
    const std::function<void(std::int64_t row, std::span<double> sums)>& finish) const {
  auto* sums = static_cast<double*>(scratch);
  const auto end = [&](std::int64_t row) {
    Finish(sums + row * targets_);
    finish(row, {sums + row * targets_, static_cast<std::size_t>(targets_)});
  };
  const std::int64_t cells = rows * targets_;
  if (rows >= kFewRows) {
    std::fill_n(sums, cells, Start());
    team.ParallelFor((rows + kRowBlock - 1) / kRowBlock, [&](std::int64_t block, int) {
      const std::int64_t first = block * kRowBlock, last = std::min(rows, first + kRowBlock);
      AddTrees(x, first, last, width, 0, trees_, sums + first * targets_);
      for (std::int64_t r = first; r < last; ++r) end(r);
    });
    return;
  }
  const std::size_t chunks =
      std::max<std::size_t>(1, (trees_ + kTreesPerChunk - 1) / kTreesPerChunk);
  std::fill_n(sums, cells * static_cast<std::int64_t>(chunks), Start());
  team.ParallelFor(static_cast<std::int64_t>(chunks), [&](std::int64_t chunk, int) {
    const std::size_t first = static_cast<std::size_t>(chunk) * kTreesPerChunk;
    AddTrees(x, 0, rows, width, first, std::min(trees_, first + kTreesPerChunk),
             sums + chunk * cells);
  });
  for (std::int64_t i = 0; i < cells; ++i) {
    for (std::size_t c = 1; c < chunks; ++c) {
      const double part = sums[static_cast<std::int64_t>(c) * cells + i];
      sums[i] = aggregate_ == Aggregate::kMin   ? std::min(sums[i], part)
                : aggregate_ == Aggregate::kMax ? std::max(sums[i], part)
                                                : sums[i] + part;
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) end(r);
}

}  // namespace switchyard::cpu::ml
