#pragma once
// Regular expressions in RE2's syntax, matched in time linear in pattern and text (Pike's virtual
// machine, without captures). Not supported: \p classes, \C, \Q; (?i) folds ASCII letters only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard::cpu::text {

class Regex {
 public:
  // Throws InvalidArgument for what is no expression, NotImplemented for what is not supported.
  explicit Regex(std::string_view pattern);
  // The whole of `text`.
  bool FullMatch(std::string_view text) const;
  // The leftmost match at or after `from`, the first of alternatives preferred.
  bool Find(std::string_view text, std::size_t from, std::size_t* begin, std::size_t* end) const;

 private:
  friend class RegexCompiler;
  friend class RegexRun;
  enum class Op : std::uint8_t {
    kSet,
    kSplit,
    kJump,
    kTextBegin,
    kTextEnd,
    kLineBegin,
    kLineEnd,
    kWordBorder,
    kNoWordBorder,
    kMatch
  };
  struct Instruction {
    Op op;
    std::uint32_t a = 0, b = 0;  // kSet: index into sets_; kSplit: preferred, other; kJump: target
  };
  using Set = std::vector<std::pair<char32_t, char32_t>>;  // sorted ranges, ends included
  std::vector<Instruction> program_;
  std::vector<Set> sets_;
};

}  // namespace switchyard::cpu::text
