#include "providers/cpu/kernels/text/utf8.h"

namespace switchyard::cpu::text {
namespace {

// Letters in pairs, upper case first: `first` up to `last`, the lower one `distance` further; with
// distance 1 upper and lower alternate.
struct Pairs {
  char32_t first, last;
  char32_t distance;
};
constexpr Pairs kPairs[] = {
    {U'A', U'Z', 32},     {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},    {0x100, 0x12E, 1},
    {0x132, 0x136, 1},    {0x139, 0x147, 1},  {0x14A, 0x176, 1},   {0x179, 0x17D, 1},
    {0x1CD, 0x1DB, 1},    {0x1DE, 0x1EE, 1},  {0x1F8, 0x21E, 1},   {0x222, 0x232, 1},
    {0x386, 0x386, 38},   {0x388, 0x38A, 37}, {0x38C, 0x38C, 64},  {0x38E, 0x38F, 63},
    {0x391, 0x3A1, 32},   {0x3A3, 0x3AB, 32}, {0x3D8, 0x3EE, 1},   {0x400, 0x40F, 80},
    {0x410, 0x42F, 32},   {0x460, 0x480, 1},  {0x48A, 0x4BE, 1},   {0x4C1, 0x4CD, 1},
    {0x4D0, 0x52E, 1},    {0x531, 0x556, 48}, {0x1E00, 0x1E94, 1}, {0x1EA0, 0x1EFE, 1},
    {0xFF21, 0xFF3A, 32},
};

template <char32_t (*Map)(char32_t)>
std::string Mapped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const char32_t c = Decode(text, at, &bytes);
    const char32_t to = Map(c);
    if (to == c) {
      out.append(text.substr(at, bytes));
    } else {
      Append(to, &out);
    }
  }
  return out;
}

}  // namespace

char32_t Decode(std::string_view text, std::size_t at, std::size_t* bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  *bytes = 1;
  if (lead < 0x80) return lead;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr char32_t kInvalid = 0xFFFD;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return kInvalid;
  char32_t c = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return kInvalid;
    c = c << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kLeast[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return kInvalid;
  *bytes = length;
  return c;
}

void Append(char32_t c, std::string* text) {
  if (c < 0x80) {
    text->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    text->push_back(static_cast<char>(0xC0 | c >> 6));
    text->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    text->push_back(static_cast<char>(0xE0 | c >> 12));
    text->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    text->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    text->push_back(static_cast<char>(0xF0 | c >> 18));
    text->push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    text->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    text->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

std::size_t Length(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0, bytes = 0; at < text.size(); at += bytes, ++count) {
    Decode(text, at, &bytes);
  }
  return count;
}

char32_t Lower(char32_t c) {
  for (const Pairs& p : kPairs) {
    if (c >= p.first && c <= p.last && (p.distance != 1 || (c - p.first) % 2 == 0)) {
      return c + p.distance;
    }
  }
  return c == 0x178 ? 0xFF : c;
}

char32_t Upper(char32_t c) {
  if (c == 0xFF) return 0x178;
  if (c == 0x3C2) return 0x3A3;  // final sigma
  for (const Pairs& p : kPairs) {
    const char32_t u = c - p.distance;
    if (c >= p.distance && u >= p.first && u <= p.last &&
        (p.distance != 1 || (u - p.first) % 2 == 0)) {
      return u;
    }
  }
  return c;
}

std::string Lower(std::string_view text) {
  return Mapped<static_cast<char32_t (*)(char32_t)>(Lower)>(text);
}
std::string Upper(std::string_view text) {
  return Mapped<static_cast<char32_t (*)(char32_t)>(Upper)>(text);
}

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace switchyard::cpu::text
