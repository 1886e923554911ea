#include "providers/cpu/math/vec_program.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "providers/cpu/math/vec_program.cc"
#define SY_VEC_NO_AVX512
#include "providers/cpu/math/vec_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SY_IVDEP
#if defined(__clang__)
#define SY_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SY_IVDEP _Pragma("GCC ivdep")
#endif
#endif

#ifndef SY_TERNARY_FN_
#define SY_TERNARY_FN_
namespace switchyard::cpu::math {
using TernaryFn = void (*)(const float* a, const float* b, const float* c, float* out, int64_t n);
}  // namespace switchyard::cpu::math
#endif

HWY_BEFORE_NAMESPACE();
namespace switchyard::cpu::math {
namespace HWY_NAMESPACE {
namespace {

#define SY_TERNARY(NAME, EXPR)                                                       \
  void NAME(const float* a, const float* b, const float* c, float* out, int64_t n) { \
    (void)b;                                                                         \
    (void)c;                                                                         \
    SY_IVDEP                                                                         \
    for (int64_t i = 0; i < n; ++i) out[i] = EXPR;                                   \
  }
SY_TERNARY(AndLoop, ((a[i] != 0) & (b[i] != 0)) ? 1.0f : 0.0f)
SY_TERNARY(OrLoop, ((a[i] != 0) | (b[i] != 0)) ? 1.0f : 0.0f)
SY_TERNARY(XorLoop, ((a[i] != 0) != (b[i] != 0)) ? 1.0f : 0.0f)
SY_TERNARY(NotLoop, a[i] != 0 ? 0.0f : 1.0f)
SY_TERNARY(WhereLoop, a[i] != 0 ? b[i] : c[i])
SY_TERNARY(MulAddLoop, a[i] * b[i] + c[i])

}  // namespace

TernaryFn TernaryFor(ProgramStep::Kind kind) {
  switch (kind) {
    case ProgramStep::Kind::kAnd:
      return AndLoop;
    case ProgramStep::Kind::kOr:
      return OrLoop;
    case ProgramStep::Kind::kXor:
      return XorLoop;
    case ProgramStep::Kind::kNot:
      return NotLoop;
    case ProgramStep::Kind::kWhere:
      return WhereLoop;
    case ProgramStep::Kind::kMulAdd:
      return MulAddLoop;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace switchyard::cpu::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::cpu::math {
namespace {

using Kind = ProgramStep::Kind;
constexpr int64_t kBlock = Program::kBlock;

int Arity(Kind kind) {
  switch (kind) {
    case Kind::kConstant:
      return 0;
    case Kind::kUnary:
    case Kind::kNot:
    case Kind::kRoundTo:
      return 1;
    case Kind::kWhere:
    case Kind::kMulAdd:
      return 3;
    default:
      return 2;
  }
}

bool CompileStep(const ProgramStep& s, IsaLevel level, Program::Instr* in) {
  in->kind = s.kind;
  in->a = s.a, in->b = s.b, in->c = s.c;
  in->params[0] = s.p0, in->params[1] = s.p1;
  in->binary = nullptr, in->unary = nullptr, in->ternary = nullptr;
  in->store = nullptr, in->load = nullptr, in->swapped = false;
  switch (s.kind) {
    case Kind::kConstant:
      return true;
    case Kind::kUnary: {
      const UnaryOp op = static_cast<UnaryOp>(s.op);
      in->unary = GetUnary(op, ElemType::kFloat, level).fn;
      if (op >= UnaryOp::kIsNan) in->load = GetConvert(ElemType::kBool, ElemType::kFloat, level);
      return in->unary != nullptr;
    }
    case Kind::kBinary: {
      const BinaryOp op = static_cast<BinaryOp>(s.op);
      const BinaryKernel k = GetBinary(op, ElemType::kFloat, level);
      in->binary = k.fn;
      in->swapped = k.swapped;
      if (op >= BinaryOp::kEqual) in->load = GetConvert(ElemType::kBool, ElemType::kFloat, level);
      return in->binary != nullptr;
    }
    case Kind::kRoundTo:
      in->store = GetConvert(ElemType::kFloat, s.type, level);
      in->load = GetConvert(s.type, ElemType::kFloat, level);
      return in->store != nullptr && in->load != nullptr;
    default:
      in->ternary = SY_VEC_DISPATCH(level, TernaryFor(s.kind));
      return in->ternary != nullptr;
  }
}

// Linear scan: a value's slot is free again after its last reader; outputs live to the end.
bool AssignSlots(Program* p) {
  const int values = p->num_inputs + p->num_steps;
  int last[Program::kMaxInputs + Program::kMaxSteps];
  for (int v = 0; v < values; ++v) last[v] = v < p->num_inputs ? 0 : v - p->num_inputs;
  for (int i = 0; i < p->num_steps; ++i) {
    const Program::Instr& in = p->instr[i];
    const int operands[3] = {in.a, in.b, in.c};
    for (int k = 0; k < Arity(in.kind); ++k) last[operands[k]] = i;
  }
  for (int k = 0; k < p->num_outputs; ++k) last[p->output_value[k]] = p->num_steps;
  bool used[Program::kMaxSlots] = {};
  auto take = [&](int v) {
    for (int s = 0; s < Program::kMaxSlots; ++s) {
      if (used[s]) continue;
      used[s] = true;
      p->slot[v] = s;
      return true;
    }
    return false;
  };
  for (int v = 0; v < p->num_inputs; ++v) {
    if (!take(v)) return false;
  }
  for (int i = 0; i < p->num_steps; ++i) {
    // The result may take the place of an operand that dies here.
    for (int v = 0; v < p->num_inputs + i; ++v) {
      if (last[v] == i) used[p->slot[v]] = false;
    }
    if (!take(p->num_inputs + i)) return false;
    if (last[p->num_inputs + i] == i) used[p->slot[p->num_inputs + i]] = false;
  }
  return true;
}

struct Value {
  const float* data;
  bool scalar;
};

// The state of one block.
struct Machine {
  const Program& program;
  Value values[Program::kMaxInputs + Program::kMaxSteps];
  alignas(64) float slots[Program::kMaxSlots][kBlock];

  explicit Machine(const Program& p) : program(p) {}  // slots stay uninitialised
  float* SlotOf(int value) { return slots[program.slot[value]]; }
};

const float* Spread(const Value& v, float* buffer, int64_t n) {
  if (!v.scalar) return v.data;
  const float x = *v.data;
  for (int64_t i = 0; i < n; ++i) buffer[i] = x;
  return buffer;
}

void RunBinaryStep(const Program::Instr& in, Value a, Value b, float* dst, int64_t n) {
  if (in.swapped) {
    const Value t = a;
    a = b;
    b = t;
  }
  // A scalar may live where the result goes.
  float sa, sb;
  if (a.scalar) sa = *a.data, a.data = &sa;
  if (b.scalar) sb = *b.data, b.data = &sb;
  const Span span = a.scalar == b.scalar ? Span::kVectorVector
                    : b.scalar           ? Span::kVectorScalar
                                         : Span::kScalarVector;
  if (in.load == nullptr) {
    in.binary(a.data, b.data, dst, n, span);
    return;
  }
  uint8_t truth[kBlock];
  in.binary(a.data, b.data, truth, n, span);
  in.load(truth, dst, n);
}

void RunTernaryStep(const Program::Instr& in, const Value* v, float* dst, int64_t n) {
  alignas(64) float t0[kBlock], t1[kBlock], t2[kBlock];
  const int arity = Arity(in.kind);
  const float* a = Spread(v[in.a], t0, n);
  const float* b = arity > 1 ? Spread(v[in.b], t1, n) : nullptr;
  const float* c = arity > 2 ? Spread(v[in.c], t2, n) : nullptr;
  in.ternary(a, b, c, dst, n);
}

void RunStep(const Program::Instr& in, Machine& m, float* dst, int64_t n) {
  Value* v = m.values;
  bool scalar = true;
  const int operands[3] = {in.a, in.b, in.c};
  for (int k = 0; k < Arity(in.kind); ++k) scalar = scalar && v[operands[k]].scalar;
  const int64_t count = scalar ? 1 : n;
  if (scalar) dst = m.SlotOf(in.dst);
  switch (in.kind) {
    case Kind::kConstant:
      v[in.dst] = {in.params, true};
      return;
    case Kind::kUnary:
      if (in.load == nullptr) {
        in.unary(v[in.a].data, dst, count, in.params);
      } else {
        uint8_t truth[kBlock];
        in.unary(v[in.a].data, truth, count, in.params);
        in.load(truth, dst, count);
      }
      break;
    case Kind::kBinary:
      RunBinaryStep(in, v[in.a], v[in.b], dst, count);
      break;
    case Kind::kRoundTo: {
      alignas(64) char raw[kBlock * 8];
      in.store(v[in.a].data, raw, count);
      in.load(raw, dst, count);
      break;
    }
    default:
      RunTernaryStep(in, v, dst, count);
      break;
  }
  v[in.dst] = {dst, scalar};
}

// All steps over n <= kBlock elements whose input values are set. `direct` (may be null) takes the
// only output.
void RunBlock(Machine& m, float* direct, int64_t n) {
  const Program& p = m.program;
  for (int i = 0; i < p.num_steps; ++i) {
    const Program::Instr& in = p.instr[i];
    const bool last = i + 1 == p.num_steps && direct != nullptr;
    RunStep(in, m, last ? direct : m.SlotOf(in.dst), n);
  }
}

void StoreOutput(Machine& m, int k, void* dst, int64_t n) {
  alignas(64) float buffer[kBlock];
  const float* src = Spread(m.values[m.program.output_value[k]], buffer, n);
  if (src == dst) return;
  m.program.output_store[k](src, dst, n);
}

const char* At(const void* p, int64_t bytes) { return static_cast<const char*>(p) + bytes; }
char* At(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }

bool WritesDirectly(const Program& p) {
  return p.num_outputs == 1 && p.num_steps > 0 &&
         p.output_value[0] == p.num_inputs + p.num_steps - 1 &&
         p.output_store[0] == GetConvert(ElemType::kFloat, ElemType::kFloat, IsaLevel::kBaseline);
}

// Sets input k from n elements at p, or from one.
void SetInput(Machine& m, int k, const char* p, bool scalar, int64_t n) {
  const Program& program = m.program;
  const float* data = reinterpret_cast<const float*>(p);
  if (program.input_load[k] != nullptr) {
    program.input_load[k](p, m.SlotOf(k), scalar ? 1 : n);
    data = m.SlotOf(k);
  }
  m.values[k] = {data, scalar};
}

// Sets input k from `rows` tile rows of `cols` elements each, packed together.
void SetTileInput(Machine& m, int k, const TileOperand& in, int64_t row, int64_t rows,
                  int64_t cols) {
  const int bytes = m.program.input_bytes[k];
  const char* p = At(in.data, row * in.row_stride * bytes);
  const bool one_row = rows == 1;
  if (in.col_stride == 0 && (one_row || in.row_stride == 0)) return SetInput(m, k, p, true, 1);
  if (in.col_stride == 1 && (one_row || in.row_stride == cols)) {
    return SetInput(m, k, p, false, rows * cols);
  }
  float* dst = m.SlotOf(k);
  const ConvertFn load = m.program.input_load[k];
  for (int64_t r = 0; r < rows; ++r, dst += cols) {
    const char* s = p + r * in.row_stride * bytes;
    if (in.col_stride == 0) {
      float x;
      if (load != nullptr) {
        load(s, &x, 1);
      } else {
        std::memcpy(&x, s, sizeof(x));
      }
      for (int64_t i = 0; i < cols; ++i) dst[i] = x;
    } else if (load != nullptr) {
      load(s, dst, cols);
    } else {
      std::memcpy(dst, s, static_cast<size_t>(cols) * sizeof(float));
    }
  }
  m.values[k] = {m.SlotOf(k), false};
}

void StoreTileOutput(Machine& m, int k, const TileResult& out, int64_t row, int64_t rows,
                     int64_t cols) {
  alignas(64) float buffer[kBlock];
  const float* src = Spread(m.values[m.program.output_value[k]], buffer, rows * cols);
  for (int64_t r = 0; r < rows; ++r) {
    m.program.output_store[k](
        src + r * cols, At(out.data, (row + r) * out.row_stride * m.program.output_bytes[k]), cols);
  }
}

}  // namespace

bool CompileProgram(std::span<const ElemType> inputs, std::span<const ProgramStep> steps,
                    std::span<const ProgramOutput> outputs, IsaLevel level, Program* p) {
  if (inputs.size() > Program::kMaxInputs || steps.size() > Program::kMaxSteps ||
      outputs.size() > Program::kMaxOutputs || outputs.empty()) {
    return false;
  }
  p->num_inputs = static_cast<int>(inputs.size());
  p->num_steps = static_cast<int>(steps.size());
  p->num_outputs = static_cast<int>(outputs.size());
  for (int k = 0; k < p->num_inputs; ++k) {
    p->input_bytes[k] = BytesOf(inputs[k]);
    p->input_load[k] =
        inputs[k] == ElemType::kFloat ? nullptr : GetConvert(inputs[k], ElemType::kFloat, level);
    if (p->input_bytes[k] == 0) return false;
  }
  for (int i = 0; i < p->num_steps; ++i) {
    const int operands[3] = {steps[i].a, steps[i].b, steps[i].c};
    for (int k = 0; k < Arity(steps[i].kind); ++k) {
      if (operands[k] < 0 || operands[k] >= p->num_inputs + i) return false;
    }
    if (!CompileStep(steps[i], level, &p->instr[i])) return false;
    p->instr[i].dst = p->num_inputs + i;
  }
  for (int k = 0; k < p->num_outputs; ++k) {
    if (outputs[k].value < 0 || outputs[k].value >= p->num_inputs + p->num_steps) return false;
    p->output_value[k] = outputs[k].value;
    p->output_bytes[k] = BytesOf(outputs[k].type);
    p->output_store[k] = GetConvert(ElemType::kFloat, outputs[k].type, level);
    if (p->output_bytes[k] == 0) return false;
  }
  return AssignSlots(p);
}

void RunProgram(const Program& p, const BroadcastPlan& plan, const void* const* inputs,
                void* const* outputs, int64_t begin, int64_t end) {
  Machine m(p);
  const int last = plan.rank - 1;
  const bool short_runs = plan.rank > 1 && plan.dims[last] < kBlock / 2;
  const bool direct = WritesDirectly(p);
  BroadcastCursor cursor(plan, begin);
  while (begin < end) {
    int64_t n = end - begin < kBlock ? end - begin : kBlock;
    if (!short_runs && cursor.run() < n) n = cursor.run();
    for (int k = 0; k < p.num_inputs; ++k) {
      bool dense = true;  // the whole output's own layout
      int64_t stride = 1;
      for (int i = last; i >= 0; --i)
        dense = dense && plan.strides[k][i] == stride, stride *= plan.dims[i];
      if (dense) {
        SetInput(m, k, At(inputs[k], begin * p.input_bytes[k]), false, n);
      } else if (!short_runs) {
        SetInput(m, k, At(inputs[k], cursor.offset(k) * p.input_bytes[k]),
                 plan.strides[k][last] == 0, n);
      } else if (p.input_load[k] == nullptr) {
        ExpandRange(plan, k, inputs[k], m.SlotOf(k), 4, begin, begin + n);
        m.values[k] = {m.SlotOf(k), false};
      } else {
        alignas(64) char raw[kBlock * 8];
        ExpandRange(plan, k, inputs[k], raw, p.input_bytes[k], begin, begin + n);
        SetInput(m, k, raw, false, n);
      }
    }
    RunBlock(m, direct ? reinterpret_cast<float*>(At(outputs[0], begin * 4)) : nullptr, n);
    for (int k = 0; k < p.num_outputs; ++k) {
      StoreOutput(m, k, At(outputs[k], begin * p.output_bytes[k]), n);
    }
    begin += n;
    if (!short_runs) cursor.Advance(n);
  }
}

void RunProgramTile(const Program& p, const TileOperand* inputs, const TileResult* outputs,
                    int64_t rows, int64_t cols) {
  if (rows <= 0 || cols <= 0) return;
  Machine m(p);
  const bool direct = WritesDirectly(p);
  if (cols > kBlock) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; c += kBlock) {
        const int64_t n = cols - c < kBlock ? cols - c : kBlock;
        for (int k = 0; k < p.num_inputs; ++k) {
          const TileOperand& in = inputs[k];
          SetInput(m, k, At(in.data, (r * in.row_stride + c * in.col_stride) * p.input_bytes[k]),
                   in.col_stride == 0, n);
        }
        char* first = At(outputs[0].data, (r * outputs[0].row_stride + c) * p.output_bytes[0]);
        RunBlock(m, direct ? reinterpret_cast<float*>(first) : nullptr, n);
        for (int k = 0; k < p.num_outputs; ++k) {
          StoreOutput(m, k,
                      At(outputs[k].data, (r * outputs[k].row_stride + c) * p.output_bytes[k]), n);
        }
      }
    }
    return;
  }
  const int64_t step = kBlock / cols;
  for (int64_t r = 0; r < rows; r += step) {
    const int64_t count = rows - r < step ? rows - r : step;
    for (int k = 0; k < p.num_inputs; ++k) SetTileInput(m, k, inputs[k], r, count, cols);
    const bool packed = direct && (count == 1 || outputs[0].row_stride == cols);
    char* first = At(outputs[0].data, r * outputs[0].row_stride * p.output_bytes[0]);
    RunBlock(m, packed ? reinterpret_cast<float*>(first) : nullptr, count * cols);
    if (packed) {
      StoreOutput(m, 0, first, count * cols);
      continue;
    }
    for (int k = 0; k < p.num_outputs; ++k) StoreTileOutput(m, k, outputs[k], r, count, cols);
  }
}

void RunTileEpilogue(void* context, int64_t batch, int64_t row0, int64_t col0, int64_t rows,
                     int64_t cols, float* tile, int64_t ld) {
  const TileEpilogue& e = *static_cast<const TileEpilogue*>(context);
  const Program& p = *e.program;
  TileOperand inputs[Program::kMaxInputs];
  TileResult outputs[Program::kMaxOutputs];
  inputs[0] = {tile, ld, 1};
  for (int k = 1; k < p.num_inputs; ++k) {
    inputs[k] = e.inputs[k];
    const int64_t at = batch * e.input_batch_strides[k] + row0 * inputs[k].row_stride +
                       col0 * inputs[k].col_stride;
    inputs[k].data = At(inputs[k].data, at * p.input_bytes[k]);
  }
  for (int k = 0; k < p.num_outputs; ++k) {
    outputs[k] = e.outputs[k];
    if (outputs[k].data == nullptr) {
      outputs[k] = {tile, ld};
      continue;
    }
    const int64_t at = batch * e.output_batch_strides[k] + row0 * outputs[k].row_stride + col0;
    outputs[k].data = At(outputs[k].data, at * p.output_bytes[k]);
  }
  RunProgramTile(p, inputs, outputs, rows, cols);
}

}  // namespace switchyard::cpu::math
#endif  // HWY_ONCE
