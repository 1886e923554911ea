#include "providers/cpu/math/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "providers/cpu/math/testing_levels.h"

namespace switchyard::cpu::math {

extern const GemmOps kGemmWidePortable;

namespace {

template <typename T>
struct Level {
  std::string name;
  const GemmOpsT<T>* ops;
};

template <typename T>
std::vector<Level<T>> Levels() {
  std::vector<Level<T>> levels;
  if constexpr (sizeof(T) == 4) {
    for (IsaLevel isa : TestableLevels()) levels.push_back({LevelName(isa), &GemmFor(isa)});
    levels.push_back({"wide portable", &kGemmWidePortable});
  } else {
    for (IsaLevel isa : TestableLevels()) levels.push_back({LevelName(isa), &GemmF64For(isa)});
  }
  return levels;
}

template <typename T>
std::vector<T> Random(std::size_t n, std::uint32_t seed) {
  std::minstd_rand rng(seed + 1);
  std::uniform_real_distribution<double> dist(-1.0, 1.0);
  std::vector<T> v(n);
  for (T& x : v) x = static_cast<T>(dist(rng));
  return v;
}

template <typename T>
struct Problem {
  GemmShape shape;
  std::int64_t lda, ldb, ldc;
  std::vector<T> a, b, c;
  T alpha = 1, beta = 0;
  EpilogueT<T> epilogue;
  bool use_epilogue = false;

  Problem(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, std::int64_t pad)
      : shape{m, n, k} {
    shape.a = ta ? MatrixForm::kTransposed : MatrixForm::kRowMajor;
    shape.b = tb ? MatrixForm::kTransposed : MatrixForm::kRowMajor;
    lda = (ta ? m : k) + pad;
    ldb = (tb ? k : n) + pad;
    ldc = n + pad;
    const auto seed = static_cast<std::uint32_t>(m * 131 + n * 17 + k);
    a = Random<T>(static_cast<std::size_t>(lda * (ta ? k : m)), seed);
    b = Random<T>(static_cast<std::size_t>(ldb * (tb ? n : k)), seed + 7);
    c = Random<T>(static_cast<std::size_t>(ldc * m), seed + 9);
  }
  double A(std::int64_t i, std::int64_t k) const {
    return a[static_cast<std::size_t>(shape.a == MatrixForm::kTransposed ? k * lda + i
                                                                         : i * lda + k)];
  }
  double B(std::int64_t k, std::int64_t j) const {
    return b[static_cast<std::size_t>(shape.b == MatrixForm::kTransposed ? j * ldb + k
                                                                         : k * ldb + j)];
  }
};

double Activate(Activation kind, double x, double a, double b) {
  switch (kind) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kClip:
      return x < a ? a : x > b ? b : x;
    case Activation::kLeakyRelu:
      return x < 0 ? a * x : x;
    case Activation::kHardSigmoid:
      return std::min(1.0, std::max(0.0, a * x + b));
    case Activation::kHardSwish:
      return x * std::min(1.0, std::max(0.0, x / 6 + 0.5));
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSilu:
      return x / (1 + std::exp(-a * x));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * std::erfc(-x * 0.7071067811865476);
  }
  return x;
}

// Runs the problem, packing the operands that `pack` names (1: A, 2: B), into canary-guarded C.
template <typename T>
std::vector<T> Compute(const GemmOpsT<T>& ops, const Problem<T>& p, int pack,
                       bool backwards = false) {
  GemmShape shape = p.shape;
  GemmArgsT<T> args;
  args.a = p.a.data();
  args.lda = p.lda;
  args.b = p.b.data();
  args.ldb = p.ldb;
  std::vector<T> c = p.c;
  args.c = c.data();
  args.ldc = p.ldc;
  args.alpha = p.alpha;
  args.beta = p.beta;
  if (p.use_epilogue) args.epilogue = &p.epilogue;
  std::vector<T> pa(ops.packed_a_elements(shape.m, shape.k));
  std::vector<T> pb(ops.packed_b_elements(shape.k, shape.n));
  if (pack & 1) {
    for (std::int64_t i = 0; i < ops.a_panels(shape.m); ++i) {
      ops.pack_a(args.a, args.lda, shape.a, shape.m, shape.k, i, i + 1, pa.data());
    }
    args.a = pa.data();
    shape.a = MatrixForm::kPacked;
  }
  if (pack & 2) {
    for (std::int64_t i = 0; i < ops.b_panels(shape.n); ++i) {
      ops.pack_b(args.b, args.ldb, shape.b, shape.k, shape.n, i, i + 1, pb.data());
    }
    args.b = pb.data();
    shape.b = MatrixForm::kPacked;
  }
  const GemmPlan plan = ops.plan(shape);
  std::vector<T> scratch(plan.scratch_bytes / sizeof(T));
  for (std::int64_t i = 0; i < plan.chunks; ++i) {
    ops.run_chunk(plan, args, backwards ? plan.chunks - 1 - i : i, scratch.data());
  }
  return c;
}

template <typename T>
void Check(const Problem<T>& p, const std::vector<T>& c, const std::string& what) {
  const double eps = std::numeric_limits<T>::epsilon();
  for (std::int64_t i = 0; i < p.shape.m; ++i) {
    for (std::int64_t j = 0; j < p.ldc; ++j) {
      const auto at = static_cast<std::size_t>(i * p.ldc + j);
      if (j >= p.shape.n) {
        ASSERT_EQ(c[at], p.c[at]) << what << " wrote outside at " << i << "," << j;
        continue;
      }
      double sum = 0;
      double scale = 0;
      for (std::int64_t k = 0; k < p.shape.k; ++k) {
        sum += p.A(i, k) * p.B(k, j);
        scale += std::abs(p.A(i, k) * p.B(k, j));
      }
      double want = static_cast<double>(p.alpha) * sum;
      if (p.beta != 0) want += static_cast<double>(p.beta) * static_cast<double>(p.c[at]);
      if (p.use_epilogue) {
        const EpilogueT<T>& e = p.epilogue;
        if (e.bias_row != nullptr) want += e.bias_row[i];
        if (e.bias_col != nullptr) want += e.bias_col[j];
        if (e.residual != nullptr) want += e.residual[i * e.residual_ld + j];
        want = Activate(e.activation, want, e.a, e.b);
      }
      const double tolerance = eps * (8 +
                                      0.6 * std::abs(static_cast<double>(p.alpha)) *
                                          std::sqrt(static_cast<double>(p.shape.k)) * (1 + scale) +
                                      4 * std::abs(want));
      ASSERT_NEAR(c[at], want, tolerance) << what << " m=" << p.shape.m << " n=" << p.shape.n
                                          << " k=" << p.shape.k << " at " << i << "," << j;
    }
  }
}

constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 64, 65, 100};

template <typename T>
void CheckAll(const Problem<T>& p) {
  for (const Level<T>& level : Levels<T>()) {
    for (int pack = 0; pack < 4; ++pack) {
      const std::vector<T> c = Compute<T>(*level.ops, p, pack);
      Check<T>(p, c, level.name + " pack " + std::to_string(pack));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Gemm, PackingByRowsIsPackingAtOnce) {
  for (const Level<float>& level : Levels<float>()) {
    for (const bool transposed : {false, true}) {
      const std::int64_t k = 611, n = 77, ld = (transposed ? k : n) + 3;
      const auto b = Random<float>(static_cast<std::size_t>(ld * (transposed ? n : k)), 5);
      const auto form = transposed ? MatrixForm::kTransposed : MatrixForm::kRowMajor;
      std::vector<float> whole(level.ops->packed_b_elements(k, n), -1), parts = whole;
      level.ops->pack_b(b.data(), ld, form, k, n, 0, level.ops->b_panels(n), whole.data());
      const std::int64_t panels = level.ops->b_panels(n);
      for (std::int64_t at = 0; at < k; at += 200) {
        for (std::int64_t p = 0; p < panels; p += 2) {
          const std::int64_t column = p * level.ops->tile_cols;
          level.ops->pack_b_rows(b.data() + (transposed ? column * ld + at : at * ld + column), ld,
                                 form, k, n, at, std::min(k, at + 200), p, std::min(panels, p + 2),
                                 parts.data());
        }
      }
      EXPECT_EQ(whole, parts) << level.name << transposed;
    }
  }
}

TEST(Gemm, MatchesReferenceOnOddShapes) {
  int turn = 0;
  for (std::int64_t m : kSizes) {
    for (std::int64_t n : kSizes) {
      for (std::int64_t k : {0, 1, 3, 8, 17, 40}) {
        ++turn;
        Problem<float> p(m, n, k, turn & 1, turn & 2, turn % 5);
        p.alpha = turn % 3 == 0 ? 0.75f : 1.0f;
        p.beta = turn % 4 == 0 ? -0.5f : 0.0f;
        CheckAll(p);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Gemm, MatchesReferenceAcrossBlocks) {
  struct {
    std::int64_t m, n, k;
  } const shapes[] = {{257, 50, 800}, {97, 70, 1700}, {6, 300, 900},   {1, 600, 1000},
                      {2, 515, 501},  {3, 400, 500},  {12, 150, 1600}, {300, 1, 777},
                      {200, 3, 1025}, {130, 400, 65}, {4, 257, 333}};
  for (const auto& s : shapes) {
    for (int form = 0; form < 4; ++form) {
      Problem<float> p(s.m, s.n, s.k, form & 1, form & 2, form);
      p.beta = form == 3 ? 1.0f : 0.0f;
      CheckAll(p);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Gemm, DoubleMatchesReference) {
  int turn = 0;
  for (std::int64_t m : {1, 2, 5, 6, 13, 33, 100}) {
    for (std::int64_t n : {1, 3, 4, 7, 8, 9, 31, 65}) {
      for (std::int64_t k : {0, 1, 7, 65, 801}) {
        ++turn;
        Problem<double> p(m, n, k, turn & 1, turn & 2, turn % 3);
        p.beta = turn % 4 == 0 ? 2.0 : 0.0;
        CheckAll(p);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Gemm, EpilogueOnEveryPath) {
  const Activation kinds[] = {
      Activation::kNone,      Activation::kRelu,        Activation::kClip,
      Activation::kLeakyRelu, Activation::kHardSigmoid, Activation::kHardSwish,
      Activation::kSigmoid,   Activation::kTanh,        Activation::kSilu,
      Activation::kGeluTanh,  Activation::kGeluErf};
  for (Activation kind : kinds) {
    for (std::int64_t m : {1, 3, 20, 50}) {
      for (std::int64_t n : {1, 37, 100}) {
        for (int form = 0; form < 4; ++form) {
          Problem<float> p(m, n, 29, form & 1, form & 2, 3);
          const std::vector<float> row = Random<float>(static_cast<std::size_t>(m), 3);
          const std::vector<float> col = Random<float>(static_cast<std::size_t>(n), 4);
          const std::vector<float> residual =
              Random<float>(static_cast<std::size_t>(m * (n + 2)), 5);
          p.epilogue.bias_row = row.data();
          p.epilogue.bias_col = col.data();
          p.epilogue.residual = residual.data();
          p.epilogue.residual_ld = n + 2;
          p.epilogue.activation = kind;
          p.epilogue.a = kind == Activation::kClip   ? -0.5f
                         : kind == Activation::kSilu ? 1.2f
                                                     : 0.2f;
          p.epilogue.b = 0.5f;
          p.use_epilogue = true;
          CheckAll(p);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Gemm, ProgramSeesEveryElementOnce) {
  struct Seen {
    static void Program(void* context, std::int64_t batch, std::int64_t row0, std::int64_t col0,
                        std::int64_t rows, std::int64_t cols, float* tile, std::int64_t ld) {
      auto& counts = *static_cast<std::vector<int>*>(context);
      EXPECT_EQ(batch, 0);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) {
          ++counts[static_cast<std::size_t>((row0 + r) * 300 + col0 + c)];
          tile[r * ld + c] = static_cast<float>((row0 + r) * 300 + col0 + c);
        }
      }
    }
  };
  for (const Level<float>& level : Levels<float>()) {
    Problem<float> p(211, 300, 40, false, false, 0);
    std::vector<int> counts(211 * 300);
    p.epilogue.tile_program = Seen::Program;
    p.epilogue.tile_context = &counts;
    p.use_epilogue = true;
    const std::vector<float> c = Compute<float>(*level.ops, p, 2);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      ASSERT_EQ(counts[i], 1);
      ASSERT_EQ(c[i], static_cast<float>(i));
    }
  }
}

TEST(Gemm, NanAndInfinityPropagate) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const Level<float>& level : Levels<float>()) {
    for (std::int64_t m : {1, 9, 40}) {
      for (int pack = 0; pack < 4; ++pack) {
        Problem<float> p(m, 45, 33, false, pack == 1, 0);
        p.a[5] = nan;
        for (std::int64_t j = 0; j < 45; ++j) {
          if (pack != 1) p.b[static_cast<std::size_t>(7 * 45 + j)] = j == 44 ? inf : 0.0f;
        }
        p.use_epilogue = true;
        p.epilogue.activation = Activation::kRelu;
        const std::vector<float> c = Compute<float>(*level.ops, p, pack);
        for (std::size_t j = 0; j < 45; ++j) {
          ASSERT_TRUE(std::isnan(c[j])) << level.name;
        }
        for (std::size_t i = 45; i < c.size(); ++i) {
          ASSERT_FALSE(std::isnan(c[i])) << level.name << " " << i;
          if (pack != 1 && i % 45 != 44) {
            ASSERT_TRUE(std::isfinite(c[i])) << level.name;
          }
        }
      }
    }
  }
}

TEST(Gemm, SameBitsInAnyOrderAndPacking) {
  for (const Level<float>& level : Levels<float>()) {
    Problem<float> p(150, 333, 900, false, false, 1);
    const std::vector<float> c = Compute<float>(*level.ops, p, 0);
    EXPECT_EQ(c, Compute<float>(*level.ops, p, 0, true));
    EXPECT_EQ(c, Compute<float>(*level.ops, p, 2, true));
    EXPECT_EQ(c, Compute<float>(*level.ops, p, 3));
  }
}

TEST(Gemm, BatchesBroadcastThroughOffsets) {
  const std::int64_t batch = 6, m = 7, n = 19, k = 11;
  const std::vector<float> a = Random<float>(static_cast<std::size_t>(2 * m * k), 1);
  const std::vector<float> b = Random<float>(static_cast<std::size_t>(3 * k * n), 2);
  const std::int64_t ao[] = {0, 0, 0, m * k, m * k, m * k};
  const std::int64_t bo[] = {0, k * n, 2 * k * n, 0, k * n, 2 * k * n};
  for (const Level<float>& level : Levels<float>()) {
    const GemmPlan plan = level.ops->plan({m, n, k, batch});
    std::vector<float> c(static_cast<std::size_t>(batch * m * n));
    GemmArgs args;
    args.a = a.data();
    args.lda = k;
    args.b = b.data();
    args.ldb = n;
    args.c = c.data();
    args.ldc = n;
    args.a_batch_offsets = ao;
    args.b_batch_offsets = bo;
    args.c_batch_stride = m * n;
    std::vector<float> scratch(plan.scratch_bytes / 4);
    for (std::int64_t i = 0; i < plan.chunks; ++i) {
      level.ops->run_chunk(plan, args, i, scratch.data());
    }
    for (std::int64_t x = 0; x < batch; ++x) {
      for (std::int64_t i = 0; i < m * n; ++i) {
        double want = 0;
        for (std::int64_t t = 0; t < k; ++t) {
          want += static_cast<double>(a[static_cast<std::size_t>(ao[x] + i / n * k + t)]) *
                  static_cast<double>(b[static_cast<std::size_t>(bo[x] + t * n + i % n)]);
        }
        ASSERT_NEAR(c[static_cast<std::size_t>(x * m * n + i)], want, 1e-5) << level.name;
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::cpu::math
