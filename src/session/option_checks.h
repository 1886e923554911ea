#pragma once
// What is checked of the options before anything is loaded.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/session/session_options.h"

namespace switchyard {

// Throws InvalidArgument: thread counts below 0, fixed sizes of dims below 1, entries of `config`
// that are switches and hold neither yes nor no.
void CheckOptions(const SessionOptions& options);

// The passes that options.disabled_passes and optimization.disable_specified_optimizers name, as
// `known` (the passes of this session) spells them. A name of an optimizer of ONNX Runtime stands
// for the passes that do its work here, if any. Any other name: InvalidArgument listing the known.
std::vector<std::string> DisabledPasses(const SessionOptions& options,
                                        std::span<const std::string> known);

}  // namespace switchyard
