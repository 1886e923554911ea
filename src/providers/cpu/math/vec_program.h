// Programs: straight-line SSA over float values, interpreted block by block in L1. What a fused
// elementwise chain or a tile epilogue runs. A program is compiled once into plain data; running it
// allocates nothing and is safe from many threads. Values are float whatever the storage types are;
// each element depends on its own inputs only, so results do not depend on how ranges or tiles are
// cut.
#pragma once

#include <cstdint>
#include <span>

#include "providers/cpu/math/isa.h"
#include "providers/cpu/math/vec_broadcast.h"
#include "providers/cpu/math/vec_cast.h"
#include "providers/cpu/math/vec_elementwise.h"

namespace switchyard::cpu::math {

// One instruction as a pass writes it. Values are numbered: inputs first, then steps in order;
// operands name earlier values. Truth values are 0 and 1.
struct ProgramStep {
  enum class Kind : int {
    kConstant,  // p0
    kUnary,     // op is a UnaryOp (not kBitNot), with p0 and p1
    kBinary,    // op is a BinaryOp (not bits and shifts)
    kAnd,       // a and b as truth values
    kOr,
    kXor,
    kNot,
    kWhere,    // a ? b : c
    kMulAdd,   // a * b + c, rounded twice
    kRoundTo,  // through the storage type `type` and back
  };
  Kind kind = Kind::kConstant;
  int op = 0;
  int a = -1, b = -1, c = -1;
  float p0 = 0, p1 = 0;
  ElemType type = ElemType::kFloat;
};

// A result: float to integer truncates as in Cast, so requantising programs round and clip first.
struct ProgramOutput {
  int value = 0;
  ElemType type = ElemType::kFloat;
};

struct Program {
  static constexpr int kMaxInputs = BroadcastPlan::kMaxInputs;
  static constexpr int kMaxSteps = 96;
  static constexpr int kMaxOutputs = 8;
  static constexpr int kMaxSlots = 32;
  static constexpr int64_t kBlock = 512;  // floats of one value held at a time

  struct Instr {
    ProgramStep::Kind kind;
    int a, b, c, dst;  // value numbers
    float params[2];
    BinaryKernel::Fn binary;
    UnaryKernel::Fn unary;
    void (*ternary)(const float* a, const float* b, const float* c, float* out, int64_t n);
    ConvertFn store, load;  // kRoundTo, and load after comparisons
    bool swapped;
  };

  int num_inputs = 0, num_steps = 0, num_outputs = 0;
  ConvertFn input_load[kMaxInputs];  // null: float
  int input_bytes[kMaxInputs];
  ConvertFn output_store[kMaxOutputs];
  int output_bytes[kMaxOutputs];
  int output_value[kMaxOutputs];
  int slot[kMaxInputs + kMaxSteps];  // where a value lives
  Instr instr[kMaxSteps];
};

// False if an operand is out of range, an operation has no float form, a type is packed or a limit
// is exceeded; the caller then splits the chain.
bool CompileProgram(std::span<const ElemType> inputs, std::span<const ProgramStep> steps,
                    std::span<const ProgramOutput> outputs, IsaLevel level, Program* program);

// Runs output elements [begin, end) of a broadcast plan over the program's inputs. Pointers are the
// bases of whole tensors; outputs are dense. An output may be a float input that is not broadcast.
void RunProgram(const Program& program, const BroadcastPlan& plan, const void* const* inputs,
                void* const* outputs, int64_t begin, int64_t end);

// An operand of a tile: element (r, c) is at data + (r * row_stride + c * col_stride) elements.
struct TileOperand {
  const void* data = nullptr;
  int64_t row_stride = 0;  // 0: the same row for all
  int64_t col_stride = 0;  // 0 or 1
};
struct TileResult {
  void* data = nullptr;
  int64_t row_stride = 0;
};

// The same over a rows x cols tile, as the epilogue of a matrix product or convolution: the result
// may be the tile itself.
void RunProgramTile(const Program& program, const TileOperand* inputs, const TileResult* outputs,
                    int64_t rows, int64_t cols);

// A program as the TileProgram hook of the float matrix products and convolutions: input 0 is the
// tile; the other inputs are bases of tensors seen from the whole output (batch, row, col); output
// 0 is written back to the tile unless it has a place of its own, as every further output has.
struct TileEpilogue {
  const Program* program = nullptr;
  TileOperand inputs[Program::kMaxInputs];  // [0] is not read
  int64_t input_batch_strides[Program::kMaxInputs] = {};
  TileResult outputs[Program::kMaxOutputs];  // [0].data null: the tile
  int64_t output_batch_strides[Program::kMaxOutputs] = {};
};
// `context` is a TileEpilogue.
void RunTileEpilogue(void* context, int64_t batch, int64_t row0, int64_t col0, int64_t rows,
                     int64_t cols, float* tile, int64_t ld);

}  // namespace switchyard::cpu::math
