#pragma once
// WAV files with 16-bit PCM samples.

#include <string>
#include <vector>

namespace audio {

struct Wave {
  int rate = 0;                // samples a second
  std::vector<float> samples;  // -1 to 1; channels averaged
};

// Throws std::runtime_error naming the file and what is wrong with it.
Wave ReadWav(const std::string& path);

}  // namespace audio
