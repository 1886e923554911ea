#pragma once
// Decision trees flattened for fast descent, and what their leaves add up to. Not the attributes of
// any operator: those are decoded into ForestSpec first.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "switchyard/base/thread_team.h"
#include "switchyard/tensor/tensor.h"

namespace switchyard::cpu::ml {

enum class Branch : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq };
enum class Aggregate : std::uint8_t { kAverage, kSum, kMin, kMax };

struct LeafWeight {
  std::int32_t target;
  double value;
};

// Trees as lists of nodes that refer to one another by position. Children may be shared, cycles are
// refused.
struct ForestSpec {
  struct Node {
    Branch branch = Branch::kLeq;
    bool missing_is_true = false;
    bool is_leaf = false;
    std::int64_t feature = 0;
    double split = 0;
    std::size_t on_true = 0, on_false = 0;          // positions in nodes
    std::size_t first_weight = 0, last_weight = 0;  // leaves: range of weights
  };
  std::vector<Node> nodes;
  std::vector<LeafWeight> weights;
  std::vector<std::size_t> roots;
  std::int64_t targets = 1;
  Aggregate aggregate = Aggregate::kSum;
};

// Compares as T: float, or double where thresholds or inputs need it.
class Forest {
 public:
  virtual ~Forest();
  // Throws InvalidGraph with the reason for cycles and positions out of range. `wide`: thresholds
  // are doubles.
  static std::unique_ptr<Forest> Make(const ForestSpec& spec, bool wide);

  std::int64_t targets() const { return targets_; }
  std::int64_t max_feature() const { return max_feature_; }
  // Bytes of memory that Run needs for `rows` rows.
  std::size_t ScratchBytes(std::int64_t rows) const;
  // x: dense [rows, width] of float, double, int32 or int64, width > max_feature(). sums receives
  // [rows, targets]; where no leaf speaks for a target, it is 0. Results do not depend on the team.
  void Run(const Tensor& x, std::int64_t rows, std::int64_t width, ThreadTeam& team, void* scratch,
           const std::function<void(std::int64_t row, std::span<double> sums)>& finish) const;

 protected:
  Forest(const ForestSpec& spec, std::int64_t max_feature);
  virtual void AddTrees(const Tensor& x, std::int64_t first_row, std::int64_t last_row,
                        std::int64_t width, std::size_t first_tree, std::size_t last_tree,
                        double* sums) const = 0;
  double Start() const;
  std::int64_t targets_, max_feature_;
  std::size_t trees_;
  Aggregate aggregate_;

 private:
  void Finish(double* sums) const;
};

}  // namespace switchyard::cpu::ml
