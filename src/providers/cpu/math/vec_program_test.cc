#include "providers/cpu/math/vec_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "providers/cpu/math/vec_test_levels.h"

namespace switchyard::cpu::math {
namespace {

using Kind = ProgramStep::Kind;

ProgramStep Unary(UnaryOp op, int a, float p0 = 0, float p1 = 0) {
  ProgramStep s;
  s.kind = Kind::kUnary, s.op = static_cast<int>(op), s.a = a, s.p0 = p0, s.p1 = p1;
  return s;
}
ProgramStep Binary(BinaryOp op, int a, int b) {
  ProgramStep s;
  s.kind = Kind::kBinary, s.op = static_cast<int>(op), s.a = a, s.b = b;
  return s;
}
ProgramStep Constant(float v) {
  ProgramStep s;
  s.p0 = v;
  return s;
}
ProgramStep Ternary(Kind kind, int a, int b, int c) {
  ProgramStep s;
  s.kind = kind, s.a = a, s.b = b, s.c = c;
  return s;
}

// One element at a time through the elementwise kernels: must give the same bits.
std::vector<float> Evaluate(const std::vector<ProgramStep>& steps, std::vector<float> v,
                            IsaLevel level) {
  for (const ProgramStep& s : steps) {
    float y = 0;
    uint8_t truth = 0;
    switch (s.kind) {
      case Kind::kConstant:
        y = s.p0;
        break;
      case Kind::kUnary:
        RunUnary(GetUnary(static_cast<UnaryOp>(s.op), ElemType::kFloat, level), &v[s.a], &y, 1,
                 s.p0, s.p1);
        break;
      case Kind::kBinary: {
        const BinaryKernel k = GetBinary(static_cast<BinaryOp>(s.op), ElemType::kFloat, level);
        if (k.out_bytes == 1) {
          RunBinary(k, &v[s.a], &v[s.b], &truth, 1, Span::kVectorVector);
          y = truth;
        } else {
          RunBinary(k, &v[s.a], &v[s.b], &y, 1, Span::kVectorVector);
        }
        break;
      }
      case Kind::kWhere:
        y = v[s.a] != 0 ? v[s.b] : v[s.c];
        break;
      case Kind::kMulAdd:
        y = v[s.a] * v[s.b];
        y = y + v[s.c];
        break;
      case Kind::kNot:
        y = v[s.a] == 0;
        break;
      default:
        break;
    }
    v.push_back(y);
  }
  return v;
}

std::vector<ProgramStep> RandomSteps(std::mt19937& rng, int inputs, int count) {
  const UnaryOp unary[] = {UnaryOp::kNeg,  UnaryOp::kAbs,     UnaryOp::kSigmoid, UnaryOp::kTanh,
                           UnaryOp::kRelu, UnaryOp::kGeluErf, UnaryOp::kSin,     UnaryOp::kRound};
  const BinaryOp binary[] = {BinaryOp::kAdd, BinaryOp::kSub,  BinaryOp::kMul,     BinaryOp::kMin,
                             BinaryOp::kMax, BinaryOp::kLess, BinaryOp::kGreater, BinaryOp::kFmod};
  std::vector<ProgramStep> steps;
  for (int i = 0; i < count; ++i) {
    auto any = [&] { return static_cast<int>(rng() % static_cast<unsigned>(inputs + i)); };
    switch (rng() % 6) {
      case 0:
        steps.push_back(Constant(static_cast<float>(rng() % 9) - 4.25f));
        break;
      case 1:
      case 2:
        steps.push_back(Unary(unary[rng() % 8], any()));
        break;
      case 3:
        steps.push_back(Ternary(rng() % 2 ? Kind::kWhere : Kind::kMulAdd, any(), any(), any()));
        break;
      default:
        steps.push_back(Binary(binary[rng() % 8], any(), any()));
        break;
    }
  }
  return steps;
}

TEST(VecProgram, RandomProgramsOverBroadcastShapes) {
  std::mt19937 rng(21);
  auto p = std::make_unique<Program>();
  for (int round = 0; round < 60; ++round) {
    const std::vector<int64_t> out = {1 + static_cast<int64_t>(rng() % 3),
                                      1 + static_cast<int64_t>(rng() % 40),
                                      1 + static_cast<int64_t>(rng() % (round % 3 ? 30 : 1500))};
    const int inputs = 1 + static_cast<int>(rng() % 4);
    std::vector<std::vector<int64_t>> dims(inputs, out);
    std::vector<std::vector<float>> data(inputs);
    std::vector<BroadcastInput> views;
    std::vector<const void*> pointers;
    for (int k = 0; k < inputs; ++k) {
      int64_t size = 1;
      for (int64_t& d : dims[k]) {
        if (k > 0 && rng() % 2) d = 1;
        size *= d;
      }
      data[k].resize(static_cast<size_t>(size));
      for (float& v : data[k]) v = static_cast<float>(rng() % 4096) / 512 - 4;
      views.push_back({dims[k], {}});
      pointers.push_back(data[k].data());
    }
    BroadcastPlan plan;
    ASSERT_TRUE(MakeBroadcastPlan(out, views, &plan));
    const auto steps = RandomSteps(rng, inputs, 1 + static_cast<int>(rng() % 14));
    const int last = inputs + static_cast<int>(steps.size()) - 1;
    std::vector<ProgramOutput> results = {{last, ElemType::kFloat}};
    if (rng() % 2) results.push_back({static_cast<int>(rng() % static_cast<unsigned>(last + 1))});
    for (IsaLevel level : TestLevels()) {
      ASSERT_TRUE(CompileProgram(std::vector<ElemType>(inputs, ElemType::kFloat), steps, results,
                                 level, p.get()));
      std::vector<float> y0(plan.size), y1(plan.size);
      void* outputs[2] = {y0.data(), y1.data()};
      const int64_t cut = static_cast<int64_t>(rng()) % (plan.size + 1);
      RunProgram(*p, plan, pointers.data(), outputs, cut, plan.size);
      RunProgram(*p, plan, pointers.data(), outputs, 0, cut);
      BroadcastCursor cursor(plan, 0);
      for (int64_t i = 0; i < plan.size; ++i) {
        std::vector<float> v(inputs);
        for (int k = 0; k < inputs; ++k) v[k] = data[k][cursor.offset(k)];
        v = Evaluate(steps, v, level);
        const float w0 = v[results[0].value], w1 = v[results.back().value];
        ASSERT_TRUE(std::memcmp(&y0[i], &w0, 4) == 0 || (std::isnan(w0) && std::isnan(y0[i])))
            << y0[i] << " " << w0;
        if (results.size() == 2) {
          ASSERT_TRUE(std::memcmp(&y1[i], &w1, 4) == 0 || (std::isnan(w1) && std::isnan(y1[i])));
        }
        cursor.Advance(1);
      }
    }
  }
}

TEST(VecProgram, TilesWithBiasResidualAndRequantisation) {
  std::mt19937 rng(8);
  auto p = std::make_unique<Program>();
  // round(silu(x * scale[c] + bias[c]) + residual), clipped to uint8
  const std::vector<ProgramStep> steps = {
      Ternary(Kind::kMulAdd, 0, 1, 2), Unary(UnaryOp::kSilu, 4, 1.0f), Binary(BinaryOp::kAdd, 5, 3),
      Unary(UnaryOp::kRound, 6), Unary(UnaryOp::kClip, 7, 0.0f, 255.0f)};
  const std::vector<ElemType> types = {ElemType::kInt32, ElemType::kFloat, ElemType::kFloat,
                                       ElemType::kFloat};
  const std::vector<ProgramOutput> outputs = {{8, ElemType::kUint8}, {6, ElemType::kFloat}};
  for (IsaLevel level : TestLevels()) {
    ASSERT_TRUE(CompileProgram(types, steps, outputs, level, p.get()));
    for (int64_t cols : {1, 7, 16, 64, 511, 512, 600}) {
      for (int64_t rows : {1, 2, 9, 70}) {
        const int64_t ld = cols + 3;
        std::vector<int32_t> x(static_cast<size_t>(rows * ld));
        std::vector<float> scale(cols), bias(cols), residual(rows * cols), sum(rows * ld, -9.0f);
        std::vector<uint8_t> q(static_cast<size_t>(rows * ld), 77);
        for (int32_t& v : x) v = static_cast<int32_t>(rng() % 1000) - 300;
        for (auto* v : {&scale, &bias, &residual}) {
          for (float& f : *v) f = static_cast<float>(rng() % 100) / 100;
        }
        const TileOperand in[4] = {{x.data(), ld, 1},
                                   {scale.data(), 0, 1},
                                   {bias.data(), 0, 1},
                                   {residual.data(), cols, 1}};
        const TileResult out[2] = {{q.data(), ld}, {sum.data(), ld}};
        RunProgramTile(*p, in, out, rows, cols);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < ld; ++c) {
            if (c >= cols) {
              ASSERT_EQ(q[r * ld + c], 77);
              ASSERT_EQ(sum[r * ld + c], -9.0f);
              continue;
            }
            const auto v = Evaluate(
                steps,
                {static_cast<float>(x[r * ld + c]), scale[c], bias[c], residual[r * cols + c]},
                level);
            ASSERT_EQ(sum[r * ld + c], v[6]);
            ASSERT_EQ(q[r * ld + c], static_cast<uint8_t>(v[8]));
          }
        }
      }
    }
  }
}

TEST(VecProgram, TileEpilogueSeesTheWholeOutput) {
  auto p = std::make_unique<Program>();
  const std::vector<ProgramStep> steps = {Binary(BinaryOp::kMul, 0, 1),
                                          Binary(BinaryOp::kAdd, 3, 2)};
  const std::vector<ElemType> types(3, ElemType::kFloat);
  const std::vector<ProgramOutput> outputs = {{4, ElemType::kFloat}};
  ASSERT_TRUE(CompileProgram(types, steps, outputs, IsaLevel::kBaseline, p.get()));
  std::vector<float> c(2 * 6 * 10), scale(10), residual(c.size());
  for (size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i), residual[i] = 1000.0f * i;
  for (size_t i = 0; i < 10; ++i) scale[i] = static_cast<float>(i + 2);
  TileEpilogue e;
  e.program = p.get();
  e.inputs[1] = {scale.data(), 0, 1};
  e.inputs[2] = {residual.data(), 10, 1};
  e.input_batch_strides[2] = 60;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t r = 0; r < 6; r += 4) {
      for (int64_t k = 0; k < 10; k += 7) {
        RunTileEpilogue(&e, b, r, k, std::min<int64_t>(4, 6 - r), std::min<int64_t>(7, 10 - k),
                        c.data() + b * 60 + r * 10 + k, 10);
      }
    }
  }
  for (size_t i = 0; i < c.size(); ++i) {
    ASSERT_EQ(c[i], static_cast<float>(i) * scale[i % 10] + 1000.0f * static_cast<float>(i));
  }
}

TEST(VecProgram, RefusesWhatItCannotRun) {
  auto p = std::make_unique<Program>();
  const std::vector<ElemType> one = {ElemType::kFloat};
  const std::vector<ProgramOutput> out = {{1, ElemType::kFloat}};
  EXPECT_FALSE(CompileProgram(one, std::vector<ProgramStep>{Unary(UnaryOp::kNeg, 1)}, out,
                              IsaLevel::kBaseline, p.get()));
  EXPECT_FALSE(CompileProgram(one, std::vector<ProgramStep>{Binary(BinaryOp::kBitAnd, 0, 0)}, out,
                              IsaLevel::kBaseline, p.get()));
  EXPECT_FALSE(CompileProgram(std::vector<ElemType>{ElemType::kInt4},
                              std::vector<ProgramStep>{Unary(UnaryOp::kNeg, 0)}, out,
                              IsaLevel::kBaseline, p.get()));
}

}  // namespace
}  // namespace switchyard::cpu::math
