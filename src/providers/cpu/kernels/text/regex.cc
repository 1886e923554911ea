#include "providers/cpu/kernels/text/regex.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "providers/cpu/kernels/text/utf8.h"
#include "switchyard/base/error.h"

namespace switchyard::cpu::text {
namespace {

constexpr std::size_t kMaxProgram = 20000;
constexpr int kMaxRepeat = 1000, kMaxDepth = 200;
constexpr char32_t kLast = 0x10FFFF;

using Ranges = std::vector<std::pair<char32_t, char32_t>>;

void Sort(Ranges* ranges) {
  std::sort(ranges->begin(), ranges->end());
  Ranges merged;
  for (const auto& r : *ranges) {
    if (!merged.empty() && r.first <= merged.back().second + 1) {
      merged.back().second = std::max(merged.back().second, r.second);
    } else {
      merged.push_back(r);
    }
  }
  *ranges = std::move(merged);
}

Ranges Inverse(Ranges ranges) {
  Sort(&ranges);
  Ranges out;
  char32_t next = 0;
  for (const auto& r : ranges) {
    if (r.first > next) out.push_back({next, r.first - 1});
    next = r.second + 1;
  }
  if (next <= kLast) out.push_back({next, kLast});
  return out;
}

void FoldCase(Ranges* ranges) {
  for (std::size_t i = 0, n = ranges->size(); i < n; ++i) {
    const auto [first, last] = (*ranges)[i];
    for (char32_t c = std::max<char32_t>(first, U'A'); c <= std::min<char32_t>(last, U'z'); ++c) {
      if (c <= U'Z') ranges->push_back({c + 32, c + 32});
      if (c >= U'a') ranges->push_back({c - 32, c - 32});
    }
  }
}

bool IsWord(char32_t c) {
  return (c >= U'0' && c <= U'9') || (c >= U'A' && c <= U'Z') || c == U'_' ||
         (c >= U'a' && c <= U'z');
}

// \d, \s, \w and their inverses; false: another letter.
bool PerlClass(char32_t letter, Ranges* out) {
  const char32_t small = letter | 32;
  Ranges set;
  if (small == U'd') {
    set = {{U'0', U'9'}};
  } else if (small == U's') {
    set = {{9, 10}, {12, 13}, {32, 32}};
  } else if (small == U'w') {
    set = {{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}};
  } else {
    return false;
  }
  if (letter != small) set = Inverse(std::move(set));
  out->insert(out->end(), set.begin(), set.end());
  return true;
}

struct NamedClass {
  const char* name;
  Ranges ranges;
};
const std::vector<NamedClass>& NamedClasses() {
  static const std::vector<NamedClass> classes = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 127}}},
      {"blank", {{9, 9}, {32, 32}}},
      {"cntrl", {{0, 31}, {127, 127}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{33, 126}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{32, 126}}},
      {"punct", {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
      {"space", {{9, 13}, {32, 32}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  return classes;
}

}  // namespace

// Parses by recursive descent into a tree, then writes the program.
class RegexCompiler {
 public:
  RegexCompiler(std::string_view pattern, Regex* regex) : pattern_(pattern), regex_(*regex) {
    std::unique_ptr<Node> root = Alternatives(0);
    if (at_ != pattern_.size()) Fail("unmatched )");
    Emit(*root);
    Put({Op::kMatch});
  }

 private:
  using Op = Regex::Op;
  using Instruction = Regex::Instruction;

  enum class Kind { kLeaf, kConcat, kAlternate, kRepeat };
  struct Node {
    Kind kind = Kind::kConcat;
    Instruction leaf{Op::kJump};
    int least = 0, most = 0;  // kRepeat; most < 0: without limit
    bool greedy = true;
    std::vector<std::unique_ptr<Node>> children;
  };
  struct Flags {
    bool fold = false, dot_all = false, lines = false, lazy = false;
  };

  [[noreturn]] void Fail(const std::string& what,
                         ErrorCode code = ErrorCode::kInvalidArgument) const {
    throw Error(code, "regular expression '" + std::string(pattern_) + "': " + what);
  }

  bool More() const { return at_ < pattern_.size(); }
  bool Eat(char c) {
    if (!More() || pattern_[at_] != c) return false;
    ++at_;
    return true;
  }
  char32_t Next() {
    if (!More()) Fail("ends too early");
    std::size_t bytes;
    const char32_t c = Decode(pattern_, at_, &bytes);
    at_ += bytes;
    return c;
  }

  static std::unique_ptr<Node> Leaf(Instruction instruction) {
    auto node = std::make_unique<Node>();
    node->kind = Kind::kLeaf;
    node->leaf = instruction;
    return node;
  }
  std::unique_ptr<Node> SetLeaf(Ranges ranges) {
    if (flags_.fold) FoldCase(&ranges);
    Sort(&ranges);
    regex_.sets_.push_back(std::move(ranges));
    return Leaf({Op::kSet, static_cast<std::uint32_t>(regex_.sets_.size() - 1)});
  }

  std::unique_ptr<Node> Alternatives(int depth) {
    if (depth > kMaxDepth) Fail("groups too deep");
    const Flags before = flags_;
    auto node = std::make_unique<Node>();
    node->kind = Kind::kAlternate;
    do {
      node->children.push_back(Sequence(depth));
    } while (Eat('|'));
    flags_ = before;
    return node;
  }

  std::unique_ptr<Node> Sequence(int depth) {
    auto node = std::make_unique<Node>();
    while (More() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      std::unique_ptr<Node> atom = Atom(depth);
      if (atom == nullptr) continue;
      node->children.push_back(Repeats(std::move(atom)));
    }
    return node;
  }

  std::unique_ptr<Node> Repeats(std::unique_ptr<Node> atom) {
    int least, most, times = 0;
    while (Quantifier(&least, &most)) {
      if (++times > 1) Fail("bad repetition operator");
      auto node = std::make_unique<Node>();
      node->kind = Kind::kRepeat;
      node->least = least;
      node->most = most;
      node->greedy = Eat('?') == flags_.lazy;
      node->children.push_back(std::move(atom));
      atom = std::move(node);
    }
    return atom;
  }

  bool Quantifier(int* least, int* most) {
    if (Eat('*')) return *least = 0, *most = -1, true;
    if (Eat('+')) return *least = 1, *most = -1, true;
    if (Eat('?')) return *least = 0, *most = 1, true;
    const std::size_t start = at_;
    if (Eat('{')) {
      if (Count(least)) {
        *most = *least;
        if (Eat(',') && !Count(most)) *most = -1;
        if (Eat('}')) {
          if (*least > kMaxRepeat || *most > kMaxRepeat || (*most >= 0 && *most < *least)) {
            Fail("bad repetition count");
          }
          return true;
        }
      }
      at_ = start;  // a brace that counts nothing is a character
    }
    return false;
  }

  bool Count(int* value) {
    bool any = false;
    for (*value = 0; More() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_, any = true) {
      *value = std::min(*value * 10 + (pattern_[at_] - '0'), kMaxRepeat + 1);
    }
    return any;
  }

  // nullptr: it only changed flags.
  std::unique_ptr<Node> Atom(int depth) {
    const char32_t c = Next();
    switch (c) {
      case U'(':
        return Group(depth);
      case U'[':
        return SetLeaf(Brackets());
      case U'.':
        return SetLeaf(flags_.dot_all ? Ranges{{0, kLast}} : Inverse({{U'\n', U'\n'}}));
      case U'^':
        return Leaf({flags_.lines ? Op::kLineBegin : Op::kTextBegin});
      case U'$':
        return Leaf({flags_.lines ? Op::kLineEnd : Op::kTextEnd});
      case U'*':
      case U'+':
      case U'?':
        Fail("nothing to repeat");
      case U'\\':
        return Escape();
      default:
        return SetLeaf({{c, c}});
    }
  }

  std::unique_ptr<Node> Group(int depth) {
    const Flags outer = flags_;
    if (Eat('?')) {
      if (Eat('P') || (More() && pattern_[at_] == '<')) {
        if (!Eat('<')) Fail("bad group name");
        const std::size_t end = pattern_.find('>', at_);
        if (end == std::string_view::npos || end == at_ || !IsWord(Byte(at_))) {
          Fail("bad group name");
        }
        at_ = end + 1;
      } else if (SetFlags()) {
        return nullptr;
      }
    }
    std::unique_ptr<Node> node = Alternatives(depth + 1);
    if (!Eat(')')) Fail("missing )");
    flags_ = outer;
    return node;
  }

  char32_t Byte(std::size_t i) const { return static_cast<unsigned char>(pattern_[i]); }

  // "i-s)" changes the rest of the enclosing group: true. "i:" those of a group that follows.
  bool SetFlags() {
    Flags flags = flags_;
    bool on = true;
    while (true) {
      const char32_t c = Next();
      if (c == U':' || c == U')') {
        flags_ = flags;
        return c == U')';
      }
      if (c == U'-' && on) {
        on = false;
      } else if (c == U'i') {
        flags.fold = on;
      } else if (c == U's') {
        flags.dot_all = on;
      } else if (c == U'm') {
        flags.lines = on;
      } else if (c == U'U') {
        flags.lazy = on;
      } else {
        Fail("bad group flags");
      }
    }
  }

  std::unique_ptr<Node> Escape() {
    const char32_t c = Next();
    Ranges set;
    if (PerlClass(c, &set)) return SetLeaf(std::move(set));
    switch (c) {
      case U'A':
        return Leaf({Op::kTextBegin});
      case U'z':
        return Leaf({Op::kTextEnd});
      case U'b':
        return Leaf({Op::kWordBorder});
      case U'B':
        return Leaf({Op::kNoWordBorder});
      default:
        break;
    }
    const char32_t value = Escaped(c);
    return SetLeaf({{value, value}});
  }

  char32_t Escaped(char32_t c) {
    switch (c) {
      case U'n':
        return U'\n';
      case U't':
        return U'\t';
      case U'r':
        return U'\r';
      case U'f':
        return U'\f';
      case U'v':
        return U'\v';
      case U'a':
        return U'\a';
      case U'0':
        return 0;
      case U'x':
        return Hex();
      default:
        break;
    }
    if (c < 0x80 && !IsWord(c)) return c;
    if (c == U'_') return c;
    const bool known = c == U'p' || c == U'P' || c == U'Q' || c == U'E' || c == U'C';
    std::string name = "\\";
    Append(c, &name);
    Fail(known ? name + " is not supported" : "bad escape " + name,
         known ? ErrorCode::kNotImplemented : ErrorCode::kInvalidArgument);
  }

  char32_t Hex() {
    const bool braces = Eat('{');
    char32_t value = 0;
    int digits = 0;
    while (braces ? !Eat('}') : digits < 2) {
      const char32_t c = Next() | 32;
      const bool digit = c >= U'0' && c <= U'9';
      if (!digit && !(c >= U'a' && c <= U'f')) Fail("bad hexadecimal escape");
      value = value * 16 + (digit ? c - U'0' : c - U'a' + 10);
      if (++digits > 6 || value > kLast) Fail("bad hexadecimal escape");
    }
    if (digits == 0) Fail("bad hexadecimal escape");
    return value;
  }

  Ranges Brackets() {
    const bool negated = Eat('^');
    Ranges set;
    for (bool first = true; first || !Eat(']'); first = false) {
      if (Named(&set)) continue;
      char32_t low = Next();
      if (low == U'\\') {
        low = Next();
        if (PerlClass(low, &set)) continue;
        low = Escaped(low);
      }
      char32_t high = low;
      if (at_ + 1 < pattern_.size() && pattern_[at_] == '-' && pattern_[at_ + 1] != ']') {
        ++at_;
        high = Next();
        if (high == U'\\') high = Escaped(Next());
        if (high < low) Fail("bad range in [ ]");
      }
      set.push_back({low, high});
    }
    if (!negated) return set;
    if (flags_.fold) FoldCase(&set);
    return Inverse(std::move(set));
  }

  // [:alpha:] inside brackets.
  bool Named(Ranges* set) {
    if (pattern_.substr(at_, 2) != "[:") return false;
    const std::size_t end = pattern_.find(":]", at_ + 2);
    if (end == std::string_view::npos) return false;
    std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
    const bool negated = !name.empty() && name[0] == '^';
    if (negated) name.remove_prefix(1);
    for (const NamedClass& known : NamedClasses()) {
      if (name != known.name) continue;
      const Ranges ranges = negated ? Inverse(known.ranges) : known.ranges;
      set->insert(set->end(), ranges.begin(), ranges.end());
      at_ = end + 2;
      return true;
    }
    Fail("unknown class [:" + std::string(name) + ":]");
  }

  std::uint32_t Put(Instruction instruction) {
    if (regex_.program_.size() >= kMaxProgram) Fail("is too large");
    regex_.program_.push_back(instruction);
    return static_cast<std::uint32_t>(regex_.program_.size() - 1);
  }
  std::uint32_t Here() const { return static_cast<std::uint32_t>(regex_.program_.size()); }
  // A split at `at` that prefers what follows if greedy, else jumps to `other` first.
  void Aim(std::uint32_t at, std::uint32_t other, bool greedy) {
    regex_.program_[at].a = greedy ? at + 1 : other;
    regex_.program_[at].b = greedy ? other : at + 1;
  }

  void Emit(const Node& node) {
    if (++emitted_ > 50 * kMaxProgram) Fail("is too large");  // repeated groups may be empty
    switch (node.kind) {
      case Kind::kLeaf:
        Put(node.leaf);
        return;
      case Kind::kConcat:
        for (const auto& child : node.children) Emit(*child);
        return;
      case Kind::kAlternate:
        return EmitAlternatives(node);
      case Kind::kRepeat:
        return EmitRepeat(node);
    }
  }

  void EmitAlternatives(const Node& node) {
    std::vector<std::uint32_t> jumps;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const bool last = i + 1 == node.children.size();
      const std::uint32_t split = last ? 0 : Put({Op::kSplit});
      Emit(*node.children[i]);
      if (last) break;
      jumps.push_back(Put({Op::kJump}));
      Aim(split, Here(), true);
    }
    for (const std::uint32_t jump : jumps) regex_.program_[jump].a = Here();
  }

  void EmitRepeat(const Node& node) {
    const Node& body = *node.children[0];
    for (int i = 0; i < node.least; ++i) Emit(body);
    if (node.most < 0) {
      const std::uint32_t split = Put({Op::kSplit});
      Emit(body);
      Put({Op::kJump, split});
      return Aim(split, Here(), node.greedy);
    }
    std::vector<std::uint32_t> splits;
    for (int i = node.least; i < node.most; ++i) {
      splits.push_back(Put({Op::kSplit}));
      Emit(body);
    }
    for (const std::uint32_t split : splits) Aim(split, Here(), node.greedy);
  }

  std::string_view pattern_;
  Regex& regex_;
  std::size_t at_ = 0;
  Flags flags_;
  std::size_t emitted_ = 0;
};

// All threads of the program side by side, in order of preference.
class RegexRun {
 public:
  RegexRun(const Regex& regex, std::string_view text)
      : regex_(regex), text_(text), seen_(regex.program_.size(), 0) {}

  bool Go(std::size_t from, bool whole, std::size_t* begin, std::size_t* end) {
    bool found = false;
    now_.clear();
    ++round_;
    for (std::size_t at = from;;) {
      if (!found && (!whole || at == from)) Follow(0, at, at, &now_);
      if (now_.empty() && (found || whole)) break;
      std::size_t bytes = 1;
      const bool at_end = at == text_.size();
      const char32_t c = at_end ? 0 : Decode(text_, at, &bytes);
      next_.clear();
      ++round_;
      for (const Thread& thread : now_) {
        const Regex::Instruction& i = regex_.program_[thread.pc];
        if (i.op == Regex::Op::kMatch) {
          if (whole && !at_end) continue;
          found = true;
          *begin = thread.start;
          *end = at;
          break;
        }
        if (!at_end && Contains(i.a, c)) Follow(thread.pc + 1, at + bytes, thread.start, &next_);
      }
      std::swap(now_, next_);
      if (at_end) break;
      at += bytes;
    }
    return found;
  }

 private:
  struct Thread {
    std::uint32_t pc;
    std::size_t start;
  };

  bool Contains(std::uint32_t set, char32_t c) const {
    const Regex::Set& ranges = regex_.sets_[set];
    const auto it = std::upper_bound(
        ranges.begin(), ranges.end(), c,
        [](char32_t value, const std::pair<char32_t, char32_t>& r) { return value < r.first; });
    return it != ranges.begin() && c <= std::prev(it)->second;
  }

  bool WordAt(std::size_t at) const {
    return at < text_.size() && IsWord(static_cast<unsigned char>(text_[at]));
  }
  bool Holds(Regex::Op op, std::size_t at) const {
    const bool border = (at > 0 && WordAt(at - 1)) != WordAt(at);
    switch (op) {
      case Regex::Op::kTextBegin:
        return at == 0;
      case Regex::Op::kTextEnd:
        return at == text_.size();
      case Regex::Op::kLineBegin:
        return at == 0 || text_[at - 1] == '\n';
      case Regex::Op::kLineEnd:
        return at == text_.size() || text_[at] == '\n';
      case Regex::Op::kWordBorder:
        return border;
      default:
        return !border;
    }
  }

  // Adds the instructions that read a character or match and that are reached from pc for nothing.
  void Follow(std::uint32_t first, std::size_t at, std::size_t start, std::vector<Thread>* list) {
    stack_.push_back(first);
    while (!stack_.empty()) {
      const std::uint32_t pc = stack_.back();
      stack_.pop_back();
      if (seen_[pc] == round_) continue;
      seen_[pc] = round_;
      const Regex::Instruction& i = regex_.program_[pc];
      switch (i.op) {
        case Regex::Op::kSet:
        case Regex::Op::kMatch:
          list->push_back({pc, start});
          break;
        case Regex::Op::kJump:
          stack_.push_back(i.a);
          break;
        case Regex::Op::kSplit:
          stack_.push_back(i.b);
          stack_.push_back(i.a);
          break;
        default:
          if (Holds(i.op, at)) stack_.push_back(pc + 1);
      }
    }
  }

  const Regex& regex_;
  std::string_view text_;
  std::vector<std::size_t> seen_;
  std::size_t round_ = 0;
  std::vector<Thread> now_, next_;
  std::vector<std::uint32_t> stack_;
};

Regex::Regex(std::string_view pattern) { RegexCompiler(pattern, this); }

bool Regex::FullMatch(std::string_view text) const {
  std::size_t begin, end;
  return RegexRun(*this, text).Go(0, true, &begin, &end);
}

bool Regex::Find(std::string_view text, std::size_t from, std::size_t* begin,
                 std::size_t* end) const {
  return RegexRun(*this, text).Go(from, false, begin, end);
}

}  // namespace switchyard::cpu::text
