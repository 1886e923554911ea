#pragma once
// From what the user asked for to the providers of a session, the CPU last.

#include "switchyard/session/environment.h"
#include "switchyard/session/session_options.h"

namespace switchyard {

// Throws InvalidArgument: unknown names (the known ones are listed), bad options; Fail: a provider
// that is not available here, with the reason.
ExecutionProviders MakeProviders(const SessionOptions& options, const Environment& environment,
                                 const ProviderEnvironment& provider_environment);

}  // namespace switchyard
