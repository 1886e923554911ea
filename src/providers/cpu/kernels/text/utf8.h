#pragma once
// Code points of UTF-8 text and simple case mapping. Not for normalisation or locales.

#include <cstddef>
#include <string>
#include <string_view>

namespace switchyard::cpu::text {

// The code point at `at` < text.size(); *bytes receives its length. A byte that begins no valid
// sequence counts as U+FFFD of length 1.
char32_t Decode(std::string_view text, std::size_t at, std::size_t* bytes);
void Append(char32_t c, std::string* text);
std::size_t Length(std::string_view text);  // code points

// One code point to one, for Latin, Greek, Cyrillic, Armenian and full-width letters; others stay.
char32_t Lower(char32_t c);
char32_t Upper(char32_t c);
std::string Lower(std::string_view text);
std::string Upper(std::string_view text);

bool IsSpace(char32_t c);

}  // namespace switchyard::cpu::text
