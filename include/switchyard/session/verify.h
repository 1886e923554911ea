#pragma once
// Whether a model gives the same results however it is run: sessions at other levels, thread
// counts and providers against the unoptimised one on the CPU; and which pass or kernel is the
// first to differ.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/session/sample_inputs.h"

namespace switchyard {

// A file, or bytes that outlive the call.
struct ModelSource {
  std::string path;
  std::span<const std::byte> bytes;  // where path is empty
};

struct VerifyCandidate {
  std::string label;
  SessionOptions options;
  std::string group;  // those of one group must agree in every bit; "": no such demand
};

struct OutputError {
  std::string name, type;  // "float[1,10]" of the reference
  double largest = 0;      // |reference|
  double error = 0;        // largest |difference|
  double relative = 0;     // error / largest, or error where the reference is all zeros
  std::int64_t elements = 0, differing = 0;  // differing: in any bit
  std::string fault;  // "" or why it can't be compared: another shape, NaN on one side
  bool within = true;
};

struct SWITCHYARD_API VerifyRow {
  std::string label;
  std::vector<OutputError> outputs;
  std::string error;       // it could not be loaded or run
  std::string other_bits;  // "" or the first label of its group with other bits
  bool ok() const;
};

struct VerifySetup {
  std::shared_ptr<Environment> environment;
  ModelSource model;
  SessionOptions reference;  // made unoptimised, on one thread and the CPU by Verify and Bisect
  NamedValues feeds;         // without names: sampled
  SampleOptions sample;
  double tolerance = 1e-3;  // on OutputError::relative; ten times that for 16-bit floats
  // Called before each session is made; total 0 where it is not known.
  std::function<void(std::size_t done, std::size_t total, std::string_view what)> progress;
};

// Integers, bools and texts must be equal, 8-bit integers may differ by one.
SWITCHYARD_API OutputError CompareValues(std::string name, const OrtValue& reference,
                                         const OrtValue& value, double tolerance);

// One row per candidate, in order. Throws what the reference session throws.
SWITCHYARD_API std::vector<VerifyRow> Verify(const VerifySetup& setup,
                                             std::span<const VerifyCandidate> candidates);

struct Bisection {
  enum class Culprit { kNone, kPass, kKernel, kUnknown };
  Culprit culprit = Culprit::kNone;
  std::int64_t patch = 0, patches = 0;  // kPass: its number, from 1, of how many
  std::string pass, node;               // kPass: what and where; kKernel: the node
  std::string provider, variant;        // kKernel
  OutputError error;                    // the first output, or value, that differs
  std::string text;                     // all of it in a sentence
};

// The first patch (by bisection over how many are applied) whose result is not within the
// tolerance; where the model differs with none applied, the first node whose value does.
SWITCHYARD_API Bisection Bisect(const VerifySetup& setup, const VerifyCandidate& candidate);

}  // namespace switchyard
