// Vector kernels of the CPU provider at every level that this machine has. Bytes per second count
// reads and writes.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_elementwise.h"
#include "providers/cpu/math/vec_move.h"
#include "providers/cpu/math/vec_norm.h"
#include "providers/cpu/math/vec_program.h"
#include "providers/cpu/math/vec_quantize.h"
#include "providers/cpu/math/vec_reduce.h"
#include "providers/cpu/math/vec_softmax.h"
#include "providers/cpu/math/vec_test_levels.h"

namespace switchyard::cpu::math {
namespace {

std::vector<float> Ramp(int64_t n) {
  std::vector<float> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[i] = static_cast<float>(i % 257) / 64 - 2;
  return v;
}

void Count(benchmark::State& state, int64_t elements, int64_t bytes) {
  state.SetItemsProcessed(state.iterations() * elements);
  state.SetBytesProcessed(state.iterations() * bytes);
}

void BM_Unary(benchmark::State& state, UnaryOp op, IsaLevel level) {
  constexpr int64_t kN = 8192;
  const auto x = Ramp(kN);
  std::vector<float> y(kN);
  const UnaryKernel k = GetUnary(op, ElemType::kFloat, level);
  for (auto _ : state) {
    RunUnary(k, x.data(), y.data(), kN, 0.5f, 1.0f);
    benchmark::ClobberMemory();
  }
  Count(state, kN, kN * 8);
}

void BM_Binary(benchmark::State& state, BinaryOp op, ElemType type, IsaLevel level) {
  constexpr int64_t kN = 8192;
  const auto x = Ramp(kN * 2);
  std::vector<float> y(kN * 2);
  const BinaryKernel k = GetBinary(op, type, level);
  for (auto _ : state) {
    RunBinary(k, x.data(), x.data(), y.data(), kN, Span::kVectorVector);
    benchmark::ClobberMemory();
  }
  Count(state, kN, kN * 3 * BytesOf(type));
}

void BM_BroadcastChannel(benchmark::State& state, IsaLevel level) {
  const std::vector<int64_t> out = {256, 3136}, channel = {256, 1};
  const auto x = Ramp(256 * 3136), c = Ramp(256);
  std::vector<float> y(x.size());
  const BroadcastInput in[2] = {{out, {}}, {channel, {}}};
  BroadcastPlan plan;
  MakeBroadcastPlan(out, in, &plan);
  const BinaryKernel k = GetBinary(BinaryOp::kMul, ElemType::kFloat, level);
  for (auto _ : state) {
    RunBinary(k, plan, x.data(), c.data(), y.data(), 0, plan.size);
    benchmark::ClobberMemory();
  }
  Count(state, plan.size, plan.size * 8);
}

void BM_Program(benchmark::State& state, IsaLevel level) {
  // hard-swish written out, plus a residual: five steps in one pass
  std::vector<ProgramStep> steps(5);
  auto unary = [](UnaryOp op, int a, float p0, float p1) {
    ProgramStep s;
    s.kind = ProgramStep::Kind::kUnary, s.op = static_cast<int>(op), s.a = a, s.p0 = p0, s.p1 = p1;
    return s;
  };
  auto binary = [](BinaryOp op, int a, int b) {
    ProgramStep s;
    s.kind = ProgramStep::Kind::kBinary, s.op = static_cast<int>(op), s.a = a, s.b = b;
    return s;
  };
  steps = {unary(UnaryOp::kAffine, 0, 1, 3), unary(UnaryOp::kClip, 2, 0, 6),
           unary(UnaryOp::kAffine, 3, 1.0f / 6, 0), binary(BinaryOp::kMul, 0, 4),
           binary(BinaryOp::kAdd, 5, 1)};
  auto program = std::make_unique<Program>();
  const std::vector<ElemType> types(2, ElemType::kFloat);
  const std::vector<ProgramOutput> outputs = {{6, ElemType::kFloat}};
  CompileProgram(types, steps, outputs, level, program.get());
  const std::vector<int64_t> dims = {200704};
  const BroadcastInput in[2] = {{dims, {}}, {dims, {}}};
  BroadcastPlan plan;
  MakeBroadcastPlan(dims, in, &plan);
  const auto x = Ramp(dims[0]), r = Ramp(dims[0]);
  std::vector<float> y(x.size());
  const void* inputs[2] = {x.data(), r.data()};
  void* result[1] = {y.data()};
  for (auto _ : state) {
    RunProgram(*program, plan, inputs, result, 0, plan.size);
    benchmark::ClobberMemory();
  }
  Count(state, plan.size, plan.size * 12);
}

void BM_Softmax(benchmark::State& state, int64_t outer, int64_t axis, int64_t inner,
                IsaLevel level) {
  const auto x = Ramp(outer * axis * inner);
  std::vector<float> y(x.size());
  for (auto _ : state) {
    RunSoftmax(SoftmaxKind::kSoftmax, ElemType::kFloat, level, x.data(), y.data(), axis, inner, 0,
               outer * inner);
    benchmark::ClobberMemory();
  }
  Count(state, outer * axis * inner, outer * axis * inner * 8);
}

void BM_LayerNorm(benchmark::State& state, IsaLevel level) {
  constexpr int64_t kRows = 384, kWidth = 768;
  const auto x = Ramp(kRows * kWidth), scale = Ramp(kWidth);
  std::vector<float> y(x.size());
  LayerNormArgs a;
  a.level = level, a.width = kWidth, a.in = x.data(), a.scale = scale.data();
  a.bias = scale.data(), a.out = y.data();
  for (auto _ : state) {
    RunLayerNorm(a, 0, kRows);
    benchmark::ClobberMemory();
  }
  Count(state, kRows * kWidth, kRows * kWidth * 8);
}

void BM_Reduce(benchmark::State& state, bool channels, IsaLevel level) {
  const std::vector<int64_t> dims = {256, 3136};
  const bool reduced[2] = {channels, !channels};
  const auto x = Ramp(256 * 3136);
  std::vector<float> y(3136);
  ReducePlan plan;
  MakeReducePlan(dims, reduced, &plan);
  const ReduceKernel k = GetReduce(ReduceOp::kMean, ElemType::kFloat, level);
  for (auto _ : state) {
    RunReduce(k, plan, x.data(), y.data(), 0, plan.out_size);
    benchmark::ClobberMemory();
  }
  Count(state, 256 * 3136, 256 * 3136 * 4);
}

void BM_Transpose(benchmark::State& state, int64_t n, int64_t m, int bytes, IsaLevel level) {
  const auto x = Ramp(n * m * bytes / 4 + 1);
  std::vector<float> y(x.size());
  const std::vector<int64_t> dims = {n, m}, perm = {1, 0};
  CopyPlan plan;
  MakeTransposePlan(dims, perm, bytes, &plan);
  for (auto _ : state) {
    RunCopy(plan, level, x.data(), y.data(), 0, plan.units);
    benchmark::ClobberMemory();
  }
  Count(state, n * m, n * m * bytes * 2);
}

void BM_Cast(benchmark::State& state, ElemType from, ElemType to, IsaLevel level) {
  constexpr int64_t kN = 8192;
  const std::vector<float> x(kN * 2, 1.0f);
  std::vector<float> y(kN * 2);
  const CastKernel k = GetCast(from, to, level);
  for (auto _ : state) {
    RunCast(k, x.data(), y.data(), 0, kN);
    benchmark::ClobberMemory();
  }
  Count(state, kN, kN * (BytesOf(from) + BytesOf(to)));
}

void BM_Quantize(benchmark::State& state, bool back, IsaLevel level) {
  constexpr int64_t kN = 65536;
  const auto x = Ramp(kN);
  std::vector<float> y(kN);
  std::vector<uint8_t> q(kN);
  const float scale = 0.02f;
  const uint8_t zero = 128;
  QuantArgs a;
  a.level = level, a.scale = &scale, a.zero_point = &zero;
  for (auto _ : state) {
    if (back) {
      RunDequantize(a, q.data(), y.data(), 0, kN);
    } else {
      RunQuantize(a, x.data(), q.data(), 0, kN);
    }
    benchmark::ClobberMemory();
  }
  Count(state, kN, kN * 5);
}

void Register() {
  const char* names[] = {"baseline", "avx2", "avx512"};
  for (IsaLevel level : TestLevels()) {
    const std::string at = std::string("/") + names[static_cast<int>(level)];
    auto add = [&](const std::string& name, auto fn, auto... args) {
      benchmark::RegisterBenchmark((name + at).c_str(), fn, args..., level);
    };
    add("exp", BM_Unary, UnaryOp::kExp);
    add("tanh", BM_Unary, UnaryOp::kTanh);
    add("erf", BM_Unary, UnaryOp::kErf);
    add("sigmoid", BM_Unary, UnaryOp::kSigmoid);
    add("gelu_erf", BM_Unary, UnaryOp::kGeluErf);
    add("log", BM_Unary, UnaryOp::kLog);
    add("sin", BM_Unary, UnaryOp::kSin);
    add("relu", BM_Unary, UnaryOp::kRelu);
    add("add_f32", BM_Binary, BinaryOp::kAdd, ElemType::kFloat);
    add("add_f16", BM_Binary, BinaryOp::kAdd, ElemType::kFloat16);
    add("add_i64", BM_Binary, BinaryOp::kAdd, ElemType::kInt64);
    add("less_f32", BM_Binary, BinaryOp::kLess, ElemType::kFloat);
    add("pow_f32", BM_Binary, BinaryOp::kPow, ElemType::kFloat);
    add("mul_channel_256x3136", BM_BroadcastChannel);
    add("hard_swish_residual_program", BM_Program);
    add("softmax_384x384", BM_Softmax, int64_t{384}, int64_t{384}, int64_t{1});
    add("softmax_axis1_21x16384", BM_Softmax, int64_t{1}, int64_t{21}, int64_t{16384});
    add("layernorm_384x768", BM_LayerNorm);
    add("mean_spatial_256x3136", BM_Reduce, false);
    add("mean_channels_256x3136", BM_Reduce, true);
    add("transpose_f32_256x3136", BM_Transpose, int64_t{256}, int64_t{3136}, 4);
    add("transpose_f32_3x50176", BM_Transpose, int64_t{3}, int64_t{50176}, 4);
    add("transpose_u8_256x3136", BM_Transpose, int64_t{256}, int64_t{3136}, 1);
    add("transpose_u8_3136x256", BM_Transpose, int64_t{3136}, int64_t{256}, 1);
    add("cast_f16_f32", BM_Cast, ElemType::kFloat16, ElemType::kFloat);
    add("cast_f32_f16", BM_Cast, ElemType::kFloat, ElemType::kFloat16);
    add("cast_f32_bf16", BM_Cast, ElemType::kFloat, ElemType::kBfloat16);
    add("cast_i64_i32", BM_Cast, ElemType::kInt64, ElemType::kInt32);
    add("cast_u8_f32", BM_Cast, ElemType::kUint8, ElemType::kFloat);
    add("cast_f32_u8", BM_Cast, ElemType::kFloat, ElemType::kUint8);
    add("quantize_u8", BM_Quantize, false);
    add("dequantize_u8", BM_Quantize, true);
  }
}

const bool registered = (Register(), true);

}  // namespace
}  // namespace switchyard::cpu::math
