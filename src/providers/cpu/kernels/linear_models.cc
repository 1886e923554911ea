// Linear models and support vector machines of ai.onnx.ml.

#include <algorithm>
#include <cmath>

#include "providers/cpu/kernels/ml/scores.h"

namespace switchyard::cpu::kernels::linear_models {
namespace {

using ml::PostTransform;
using ml::Rows;

std::vector<double> Doubles(std::span<const float> values) {
  return std::vector<double>(values.begin(), values.end());
}

[[noreturn]] void WrongCount(const OpKernelInfo& info, const char* attribute, std::size_t got,
                             std::size_t expected) {
  info.Fail(std::string(attribute) + " has " + std::to_string(got) + " values, expected " +
            std::to_string(expected));
}

// Runs body(row, values) for each row, values being the row as doubles.
template <typename Body>
void ForRows(OpKernelContext& context, const Tensor& x, const Rows& rows, double ns_per_row,
             Body&& body) {
  ParallelItems(context, rows.count, ns_per_row, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> values(static_cast<std::size_t>(rows.width));
    for (std::int64_t r = begin; r < end; ++r) {
      ml::ReadRow(x, r * rows.width, values);
      body(r, values);
    }
  });
}

// One score per set of coefficients.
class LinearScores {
 public:
  LinearScores(const OpKernelInfo& info, std::size_t targets)
      : weights_(Doubles(info.attributes().Floats("coefficients"))),
        offsets_(Doubles(info.attributes().Floats("intercepts"))),
        targets_(targets) {
    if (targets_ == 0 || weights_.empty() || weights_.size() % targets_ != 0) {
      info.Fail("coefficients has " + std::to_string(weights_.size()) +
                " values, expected a positive multiple of " + std::to_string(targets_));
    }
    if (!offsets_.empty() && offsets_.size() != targets_) {
      WrongCount(info, "intercepts", offsets_.size(), targets_);
    }
    width_ = static_cast<std::int64_t>(weights_.size() / targets_);
  }

  std::size_t targets() const { return targets_; }
  double NsPerRow() const { return 20 + 0.4 * static_cast<double>(weights_.size()); }
  Rows Check(const OpKernelContext& context, const Tensor& x) const {
    const Rows rows = ml::RowsOf(context, x);
    if (rows.width != width_) {
      context.Fail("the model has " + std::to_string(width_) + " features, the input is " +
                   x.Describe());
    }
    return rows;
  }
  void Run(std::span<const double> row, double* scores) const {
    for (std::size_t t = 0; t < targets_; ++t) {
      const double* w = weights_.data() + t * static_cast<std::size_t>(width_);
      scores[t] = ml::Dot(row.data(), w, width_) + (offsets_.empty() ? 0 : offsets_[t]);
    }
  }

 private:
  std::vector<double> weights_, offsets_;
  std::size_t targets_;
  std::int64_t width_ = 0;
};

class LinearRegressor final : public OpKernel {
 public:
  explicit LinearRegressor(OpKernelInfo& info)
      : scores_(info, Targets(info)), transform_(ml::PostTransformOf(info)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = scores_.Check(context, x);
    const auto targets = static_cast<std::int64_t>(scores_.targets());
    const std::int64_t dims[2] = {rows.count, targets};
    float* y = context.Output(0, dims).data_mutable<float>();
    ForRows(context, x, rows, scores_.NsPerRow(), [&](std::int64_t r, std::span<const double> row) {
      InlineVector<double, 16> scores(static_cast<std::size_t>(targets));
      scores_.Run(row, scores.data());
      ml::ApplyPostTransform(transform_, {scores.data(), scores.size()});
      for (std::int64_t t = 0; t < targets; ++t) {
        y[r * targets + t] = static_cast<float>(scores[static_cast<std::size_t>(t)]);
      }
    });
  }

 private:
  static std::size_t Targets(const OpKernelInfo& info) {
    const std::int64_t targets = info.attributes().Int("targets", 1);
    if (targets < 1) info.Fail("targets is " + std::to_string(targets));
    return static_cast<std::size_t>(targets);
  }

  LinearScores scores_;
  PostTransform transform_;
};

// With one set of coefficients and two labels the scores are -s and s.
class LinearClassifier final : public OpKernel {
 public:
  explicit LinearClassifier(OpKernelInfo& info)
      : labels_(info, "classlabels_ints"),
        scores_(info, Sets(info, labels_.size())),
        transform_(ml::PostTransformOf(info)),
        mirrored_(scores_.targets() == 1 && labels_.size() == 2) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = scores_.Check(context, x);
    const std::size_t columns = scores_.targets() + (mirrored_ ? 1 : 0);
    const auto width = static_cast<std::int64_t>(columns);
    const std::int64_t dims[2] = {rows.count, width};
    Tensor* labels = context.has_output(0) ? &context.Output(0, {dims, 1}) : nullptr;
    float* z = context.has_output(1) ? context.Output(1, dims).data_mutable<float>() : nullptr;
    ForRows(context, x, rows, scores_.NsPerRow(), [&](std::int64_t r, std::span<const double> row) {
      InlineVector<double, 16> scores(columns);
      scores_.Run(row, scores.data() + (mirrored_ ? 1 : 0));
      if (mirrored_) scores[0] = -scores[1];
      const std::span<double> all(scores.data(), columns);
      const double first = scores[0];
      if (labels != nullptr && columns > 1) labels_.Write(*labels, r, ml::ArgMax(all));
      ml::ApplyPostTransform(transform_, all);
      if (labels != nullptr && columns == 1) {
        const bool hit = transform_ == PostTransform::kNone ? first > 0 : scores[0] > 0.5;
        WriteOnly(*labels, r, hit);
      }
      for (std::size_t c = 0; z != nullptr && c < columns; ++c) {
        z[r * width + static_cast<std::int64_t>(c)] = static_cast<float>(scores[c]);
      }
    });
  }

 private:
  static std::size_t Sets(const OpKernelInfo& info, std::size_t labels) {
    const std::size_t weights = info.attributes().Floats("coefficients").size();
    const std::size_t offsets = info.attributes().Floats("intercepts").size();
    if (offsets == 1 && labels <= 2) return 1;
    if (labels == 0) return std::max<std::size_t>(offsets, 1);
    // Two labels without intercepts: both forms are written; an odd number tells them apart.
    return labels == 2 && offsets == 0 && weights % 2 == 1 ? 1 : labels;
  }
  // One label alone: it or nothing.
  void WriteOnly(Tensor& labels, std::int64_t row, bool hit) const {
    if (labels_.size() == 0) return labels_.Write(labels, row, hit ? 1 : 0);
    if (hit) return labels_.Write(labels, row, 0);
    if (labels.type() == DataType::kInt64) {
      labels.data_mutable<std::int64_t>()[row] = 0;
    } else {
      labels.data_mutable<std::string>()[row].clear();
    }
  }

  ml::ClassLabels labels_;
  LinearScores scores_;
  PostTransform transform_;
  bool mirrored_;
};

// Kernel values of one row against the support vectors.
class SupportVectors {
 public:
  SupportVectors(const OpKernelInfo& info, std::int64_t count) : count_(count) {
    vectors_ = Doubles(info.attributes().Floats("support_vectors"));
    const std::string name = info.attributes().String("kernel_type", "LINEAR");
    kind_ = name == "LINEAR"    ? Kind::kLinear
            : name == "POLY"    ? Kind::kPoly
            : name == "RBF"     ? Kind::kRbf
            : name == "SIGMOID" ? Kind::kSigmoid
                                : Kind::kUnknown;
    if (kind_ == Kind::kUnknown) info.Fail("kernel_type '" + name + "' is not known");
    const auto params = info.attributes().Floats("kernel_params");
    if (params.size() >= 3) {
      gamma_ = params[0];
      offset_ = params[1];
      degree_ = params[2];
    } else if (!params.empty()) {
      WrongCount(info, "kernel_params", params.size(), 3);
    }
    if (count_ <= 0 || vectors_.empty() ||
        vectors_.size() % static_cast<std::size_t>(count_) != 0) {
      info.Fail("support_vectors has " + std::to_string(vectors_.size()) +
                " values, expected a multiple of " + std::to_string(count_));
    }
    width_ = static_cast<std::int64_t>(vectors_.size()) / count_;
  }

  std::int64_t count() const { return count_; }
  std::int64_t width() const { return width_; }
  double NsPerRow() const { return 30.0 * count_ + 0.5 * static_cast<double>(vectors_.size()); }
  void Run(std::span<const double> row, double* values) const {
    for (std::int64_t v = 0; v < count_; ++v) {
      values[v] = Value(row.data(), vectors_.data() + v * width_);
    }
  }

 private:
  enum class Kind { kLinear, kPoly, kRbf, kSigmoid, kUnknown };

  double Value(const double* row, const double* vector) const {
    if (kind_ == Kind::kRbf) return std::exp(-gamma_ * ml::SquaredDistance(row, vector, width_));
    const double dot = ml::Dot(row, vector, width_);
    if (kind_ == Kind::kLinear) return dot;
    const double inner = gamma_ * dot + offset_;
    return kind_ == Kind::kPoly ? std::pow(inner, degree_) : std::tanh(inner);
  }

  std::vector<double> vectors_;
  std::int64_t count_, width_ = 0;
  Kind kind_;
  double gamma_ = 0, offset_ = 0, degree_ = 0;
};

Rows CheckWidth(const OpKernelContext& context, const Tensor& x, std::int64_t width) {
  const Rows rows = ml::RowsOf(context, x);
  if (rows.width != width) {
    context.Fail("the model has " + std::to_string(width) + " features, the input is " +
                 x.Describe());
  }
  return rows;
}

class SvmRegressor final : public OpKernel {
 public:
  explicit SvmRegressor(OpKernelInfo& info)
      : weights_(Doubles(info.attributes().Floats("coefficients"))),
        transform_(ml::PostTransformOf(info)),
        one_class_(info.attributes().Int("one_class", 0) != 0) {
    const std::int64_t count = info.attributes().Int("n_supports", 0);
    const auto rho = info.attributes().Floats("rho");
    if (rho.size() != 1) WrongCount(info, "rho", rho.size(), 1);
    rho_ = rho[0];
    if (count > 0) {
      vectors_ = std::make_unique<SupportVectors>(info, count);
      if (weights_.size() != static_cast<std::size_t>(count)) {
        WrongCount(info, "coefficients", weights_.size(), static_cast<std::size_t>(count));
      }
    } else if (weights_.empty() || count < 0) {
      info.Fail("has neither support vectors nor coefficients");
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto count = static_cast<std::int64_t>(weights_.size());
    const Rows rows = CheckWidth(context, x, vectors_ ? vectors_->width() : count);
    const std::int64_t dims[2] = {rows.count, 1};
    float* y = context.Output(0, dims).data_mutable<float>();
    const double ns = vectors_ ? vectors_->NsPerRow() : static_cast<double>(count);
    ForRows(context, x, rows, ns, [&](std::int64_t r, std::span<const double> row) {
      double sum = rho_;
      if (vectors_) {
        std::vector<double> values(weights_.size());
        vectors_->Run(row, values.data());
        sum += ml::Dot(values.data(), weights_.data(), count);
      } else {
        sum += ml::Dot(row.data(), weights_.data(), count);
      }
      if (one_class_) sum = sum > 0 ? 1 : -1;
      ml::ApplyPostTransform(transform_, {&sum, 1});
      y[r] = static_cast<float>(sum);
    });
  }

 private:
  std::vector<double> weights_;
  std::unique_ptr<SupportVectors> vectors_;
  double rho_ = 0;
  PostTransform transform_;
  bool one_class_;
};

// Pairwise probabilities to one per class: Wu, Lin and Weng 2004, second method, as LIBSVM does it.
void CouplePairs(std::size_t k, const std::vector<double>& pairs, double* p) {
  std::vector<double> q(k * k, 0), qp(k);
  for (std::size_t t = 0; t < k; ++t) {
    p[t] = 1.0 / static_cast<double>(k);
    for (std::size_t j = 0; j < k; ++j) {
      if (j == t) continue;
      q[t * k + t] += pairs[j * k + t] * pairs[j * k + t];
      q[t * k + j] = -pairs[j * k + t] * pairs[t * k + j];
    }
  }
  const double eps = 0.005 / static_cast<double>(k);
  const std::size_t limit = std::max<std::size_t>(100, k);
  for (std::size_t step = 0; step < limit; ++step) {
    double pqp = 0, worst = 0;
    for (std::size_t t = 0; t < k; ++t) {
      qp[t] = ml::Dot(&q[t * k], p, static_cast<std::int64_t>(k));
      pqp += p[t] * qp[t];
    }
    for (std::size_t t = 0; t < k; ++t) worst = std::max(worst, std::abs(qp[t] - pqp));
    if (worst < eps) break;
    for (std::size_t t = 0; t < k; ++t) {
      const double diag = q[t * k + t];
      const double diff = (-qp[t] + pqp) / diag;
      p[t] += diff;
      pqp = (pqp + diff * (diff * diag + 2 * qp[t])) / (1 + diff) / (1 + diff);
      for (std::size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + diff * q[t * k + j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }
}

class SvmClassifier final : public OpKernel {
 public:
  explicit SvmClassifier(OpKernelInfo& info)
      : labels_(info, "classlabels_ints"),
        weights_(Doubles(info.attributes().Floats("coefficients"))),
        rho_(Doubles(info.attributes().Floats("rho"))),
        prob_a_(Doubles(info.attributes().Floats("prob_a"))),
        prob_b_(Doubles(info.attributes().Floats("prob_b"))),
        transform_(ml::PostTransformOf(info)),
        classes_(std::max<std::size_t>(labels_.size(), 1)) {
    if (weights_.empty()) info.Fail("coefficients is missing or empty");
    const auto counts = info.attributes().Ints("vectors_per_class");
    std::int64_t total = 0;
    for (const std::int64_t count : counts) {
      if (count < 0 || count > static_cast<std::int64_t>(weights_.size())) {
        info.Fail("vectors_per_class has " + std::to_string(count));
      }
      starts_.push_back(total);
      total += count;
    }
    starts_.push_back(total);
    if (total > 0) {
      InitPairs(info, counts.size(), total);
    } else {
      InitLinear(info);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = CheckWidth(context, x, vectors_ ? vectors_->width() : width_);
    const auto columns = static_cast<std::int64_t>(Columns());
    const std::int64_t dims[2] = {rows.count, columns};
    Tensor* labels = context.has_output(0) ? &context.Output(0, {dims, 1}) : nullptr;
    float* z = context.has_output(1) ? context.Output(1, dims).data_mutable<float>() : nullptr;
    const double ns =
        vectors_ ? vectors_->NsPerRow() : 20 + 0.5 * static_cast<double>(weights_.size());
    ForRows(context, x, rows, ns, [&](std::int64_t r, std::span<const double> row) {
      std::vector<double> scores;
      const std::size_t top = vectors_ ? Pairs(row, &scores) : Linear(row, &scores);
      if (labels != nullptr) labels_.Write(*labels, r, top);
      Finish(&scores);
      for (std::int64_t c = 0; z != nullptr && c < columns; ++c) {
        z[r * columns + c] = static_cast<float>(scores[static_cast<std::size_t>(c)]);
      }
    });
  }

 private:
  std::size_t PairCount() const { return classes_ * (classes_ - 1) / 2; }

  void InitPairs(const OpKernelInfo& info, std::size_t counts, std::int64_t total) {
    if (counts != classes_ || classes_ < 2) {
      WrongCount(info, "vectors_per_class", counts, std::max<std::size_t>(classes_, 2));
    }
    vectors_ = std::make_unique<SupportVectors>(info, total);
    const std::size_t expected = (classes_ - 1) * static_cast<std::size_t>(total);
    if (weights_.size() != expected) WrongCount(info, "coefficients", weights_.size(), expected);
    if (rho_.size() != PairCount()) WrongCount(info, "rho", rho_.size(), PairCount());
    if (!prob_a_.empty() && prob_a_.size() != PairCount()) {
      WrongCount(info, "prob_a", prob_a_.size(), PairCount());
    }
    if (prob_b_.size() != prob_a_.size()) {
      WrongCount(info, "prob_b", prob_b_.size(), prob_a_.size());
    }
  }

  void InitLinear(const OpKernelInfo& info) {
    if (rho_.empty()) info.Fail("rho is missing or empty");
    if (weights_.size() % classes_ != 0) {
      info.Fail("coefficients has " + std::to_string(weights_.size()) +
                " values, expected a multiple of " + std::to_string(classes_));
    }
    prob_a_.clear();
    width_ = static_cast<std::int64_t>(weights_.size() / classes_);
  }

  // One score for two classes is written as two.
  bool Doubled() const { return classes_ == 2 && vectors_ != nullptr && prob_a_.empty(); }
  std::size_t Columns() const {
    if (vectors_ == nullptr || !prob_a_.empty()) return classes_;
    return Doubled() ? 2 : PairCount();
  }

  std::size_t Linear(std::span<const double> row, std::vector<double>* scores) const {
    for (std::size_t c = 0; c < classes_; ++c) {
      const double* w = weights_.data() + c * static_cast<std::size_t>(width_);
      const double rho = rho_.size() == classes_ ? rho_[c] : rho_[0];
      scores->push_back(rho + ml::Dot(row.data(), w, width_));
    }
    if (classes_ == 1) return (*scores)[0] > 0 && labels_.size() == 0 ? 1 : 0;
    return ml::ArgMax(*scores);
  }

  std::size_t Pairs(std::span<const double> row, std::vector<double>* scores) const {
    std::vector<double> values(static_cast<std::size_t>(vectors_->count()));
    vectors_->Run(row, values.data());
    std::vector<double> votes(classes_, 0);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes_; ++i) {
      for (std::size_t j = i + 1; j < classes_; ++j) {
        const double sum = rho_[pair++] + Part(j - 1, i, values) + Part(i, j, values);
        scores->push_back(sum);
        votes[sum > 0 ? i : j] += 1;
      }
    }
    if (prob_a_.empty()) return ml::ArgMax(votes);
    Probabilities(scores);
    return ml::ArgMax(votes);
  }

  // Coefficients of row `set` over the support vectors of class c.
  double Part(std::size_t set, std::size_t c, const std::vector<double>& values) const {
    const double* w = weights_.data() + static_cast<std::int64_t>(set) * vectors_->count();
    return ml::Dot(w + starts_[c], values.data() + starts_[c], starts_[c + 1] - starts_[c]);
  }

  void Probabilities(std::vector<double>* scores) const {
    std::vector<double> pairs(classes_ * classes_, 0);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes_; ++i) {
      for (std::size_t j = i + 1; j < classes_; ++j, ++pair) {
        const double p = 1 / (1 + std::exp((*scores)[pair] * prob_a_[pair] + prob_b_[pair]));
        const double bounded = std::clamp(p, 1e-7, 1 - 1e-7);
        pairs[i * classes_ + j] = bounded;
        pairs[j * classes_ + i] = 1 - bounded;
      }
    }
    scores->resize(classes_);
    CouplePairs(classes_, pairs, scores->data());
  }

  void Finish(std::vector<double>* scores) const {
    if (Doubled()) {
      // The second column carries the pair's score, though a positive one votes for the first
      // class: what the converters' users expect.
      const double s = (*scores)[0];
      *scores = {-s, s};
    }
    ml::ApplyPostTransform(transform_, *scores);
  }

  ml::ClassLabels labels_;
  std::vector<double> weights_, rho_, prob_a_, prob_b_;
  PostTransform transform_;
  std::size_t classes_;
  std::vector<std::int64_t> starts_;
  std::unique_ptr<SupportVectors> vectors_;
  std::int64_t width_ = 0;
};

template <typename Kernel>
void Add(KernelRegistry& registry, const char* op) {
  registry.Register(KernelCreateInfo::For(op, "ai.onnx.ml").Input(0, ml::kRowTypes).Make<Kernel>());
}

}  // namespace

void Register(KernelRegistry& registry) {
  Add<LinearClassifier>(registry, "LinearClassifier");
  Add<LinearRegressor>(registry, "LinearRegressor");
  Add<SvmClassifier>(registry, "SVMClassifier");
  Add<SvmRegressor>(registry, "SVMRegressor");
}

}  // namespace switchyard::cpu::kernels::linear_models
