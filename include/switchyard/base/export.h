#pragma once
// Marks what libswitchyard.so exports. Everything else stays hidden.
#if defined(_WIN32)
#define SWITCHYARD_API
#else
#define SWITCHYARD_API __attribute__((visibility("default")))
#endif
