#pragma once
// Inputs made up for a model: the same for the same seed, so that results can be compared.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "switchyard/session/inference_session.h"

namespace switchyard {

struct NamedValues {
  std::vector<std::string> names;
  std::vector<OrtValue> values;
};

struct SampleOptions {
  std::uint32_t seed = 1;
  std::map<std::string, std::int64_t> dims;  // of symbolic dimensions by name; 1 where not given
};

// Floats in [0, 1), integers 0 or 1 (valid as indices and masks of most models), bytes 0 to 255,
// empty texts. Depends on the seed and the input's name only, not on other inputs. Throws
// InvalidArgument for what can't be made up: sequences, maps, packed and 8-bit float types.
SWITCHYARD_API OrtValue SampleInput(const SessionArg& input, const SampleOptions& options);
// One for each input but optional ones.
SWITCHYARD_API NamedValues SampleInputs(std::span<const SessionArg> inputs,
                                        const SampleOptions& options);

}  // namespace switchyard
