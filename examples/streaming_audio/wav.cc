#include "wav.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace audio {
namespace {

std::uint32_t Little(const std::string& bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

}  // namespace

Wave ReadWav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": can't be opened");
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < 12 || bytes.compare(0, 4, "RIFF") != 0 || bytes.compare(8, 4, "WAVE") != 0)
    throw std::runtime_error(path + ": not a WAV file");
  Wave wave;
  std::uint32_t channels = 0;
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::size_t size = Little(bytes, at + 4, 4), body = at + 8;
    const std::size_t here = std::min(size, bytes.size() - body);
    if (bytes.compare(at, 4, "fmt ") == 0 && here >= 16) {
      if (Little(bytes, body, 2) != 1 || Little(bytes, body + 14, 2) != 16)
        throw std::runtime_error(path + ": expected 16-bit PCM");
      channels = Little(bytes, body + 2, 2);
      wave.rate = static_cast<int>(Little(bytes, body + 4, 4));
    } else if (bytes.compare(at, 4, "data") == 0) {
      if (channels == 0) throw std::runtime_error(path + ": samples before their format");
      for (std::size_t i = 0; i + 2 * channels <= here; i += 2 * channels) {
        float sum = 0;
        for (std::uint32_t c = 0; c < channels; ++c)
          sum += static_cast<float>(static_cast<std::int16_t>(Little(bytes, body + i + 2 * c, 2)));
        wave.samples.push_back(sum / static_cast<float>(channels) / 32768.0f);
      }
    }
    at = body + size + size % 2;
  }
  if (wave.rate == 0) throw std::runtime_error(path + ": no format chunk");
  return wave;
}

}  // namespace audio
