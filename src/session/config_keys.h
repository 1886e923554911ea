#pragma once
// The session configuration keys that mean something to us, or to ONNX Runtime.

#include <string>
#include <string_view>

namespace switchyard {

// Known to Switchyard or ONNX Runtime; keys of a provider ("ep.<name>.<key>") count as known.
bool IsKnownConfigKey(std::string_view key);

// Known, and either on or off.
bool IsSwitch(std::string_view key);

// "1", "true", "True", "ON" ... ; throws InvalidArgument naming the key for anything else that is
// not a plain no.
bool ConfigFlag(std::string_view key, std::string_view value);

}  // namespace switchyard
