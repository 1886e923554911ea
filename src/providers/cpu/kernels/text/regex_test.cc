#include "providers/cpu/kernels/text/regex.h"

#include <gtest/gtest.h>

#include "providers/cpu/kernels/text/utf8.h"
#include "switchyard/base/error.h"

namespace switchyard::cpu::text {
namespace {

struct Case {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(Regex, FullMatch) {
  const Case cases[] = {
      {"", "", true},
      {"", "a", false},
      {"a|bc", "bc", true},
      {"a|bc", "abc", false},
      {"(ab)*c", "ababc", true},
      {"a{2,3}", "aa", true},
      {"a{2,3}", "aaaa", false},
      {"a{2}", "aaa", false},
      {"a{,2}", "a{,2}", true},  // not a count
      {"(a*)*b", "aaab", true},
      {"(a|aa)+", "aaaaa", true},
      {"[^a-c]+", "xyz", true},
      {"[]a]+", "]a", true},
      {"[a-]+", "a-", true},
      {R"([\w.-]+@[\w-]+\.com)", "first.last@here.com", true},
      {R"([\w.-]+@[\w-]+\.com)", "first@here.org", false},
      {R"(\d+\s\S\D)", "12 xy", true},
      {"[[:alpha:]]+[[:^digit:]]", "abc-", true},
      {"(?i)HeLLo", "hEllO", true},
      {"(?i:a)b", "AB", false},
      {"(?i:(a)c)b", "ACb", true},
      {"(?P<name>x)y", "xy", true},
      {".", "\n", false},
      {"(?s).", "\n", true},
      {".", "\xC3\xA9", true},
      {"[\xC3\xA0-\xC3\xBF]", "\xC3\xA9", true},
      {R"(\x41\x{e9})", "A\xC3\xA9", true},
      {R"(^a$)", "a", true},
      {R"(\bab\b.*)", "ab cd", true},
      {R"(a\Bb)", "ab", true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Regex(c.pattern).FullMatch(c.text), c.matches) << c.pattern << " on " << c.text;
  }
}

TEST(Regex, FindPrefersLeftmostThenFirst) {
  std::size_t begin = 0, end = 0;
  ASSERT_TRUE(Regex("a|ab").Find("xab", 0, &begin, &end));
  EXPECT_EQ(begin, 1u);
  EXPECT_EQ(end, 2u);
  ASSERT_TRUE(Regex("a+").Find("xaab", 0, &begin, &end));
  EXPECT_EQ(end, 3u);
  ASSERT_TRUE(Regex("a+?").Find("xaab", 0, &begin, &end));
  EXPECT_EQ(end, 2u);
  EXPECT_FALSE(Regex("c").Find("xaab", 0, &begin, &end));
}

TEST(Regex, BadPatternsAreErrors) {
  std::string deep(100000, '(');
  for (const std::string pattern :
       {"(", ")", "[", "a**", "*", "\\", "[b-a]", "a{1001}", "(?z)", "\\q", "[[:what:]]", "\\pL",
        "((((a{1000}){1000}){1000}){1000}){1000}", "((((){1000}){1000}){1000}){1000}",
        deep.c_str()}) {
    EXPECT_THROW(Regex{pattern}, Error) << pattern.substr(0, 40);
  }
}

TEST(Regex, TimeIsLinear) {
  const std::string text(20000, 'a');
  EXPECT_FALSE(Regex("(a*)*b").FullMatch(text));
  EXPECT_FALSE(Regex("(a|a|aa)*b").FullMatch(text));
}

TEST(Utf8, CaseBeyondAscii) {
  EXPECT_EQ(Upper("stra\xC3\x9F\x65 \xC3\xA9\xC5\x82 \xD0\xB6"),
            "STRA\xC3\x9F\x45 \xC3\x89\xC5\x81 \xD0\x96");
  EXPECT_EQ(Lower("\xCE\xA9 \xD0\x96 \xC5\x81"), "\xCF\x89 \xD0\xB6 \xC5\x82");
  EXPECT_EQ(Length("a\xC3\xA9\xFF"), 3u);
}

}  // namespace
}  // namespace switchyard::cpu::text
