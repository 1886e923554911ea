// Operators on text: StringNormalizer, StringConcat, StringSplit, RegexFullMatch, TfIdfVectorizer,
// Tokenizer.

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "providers/cpu/kernels/common/broadcast.h"
#include "providers/cpu/kernels/common/kernel_common.h"
#include "providers/cpu/kernels/text/regex.h"
#include "providers/cpu/kernels/text/utf8.h"

namespace switchyard::cpu::kernels::strings {
namespace {

std::unique_ptr<text::Regex> MakeRegex(const OpKernelInfo& info, const std::string& pattern) {
  try {
    return std::make_unique<text::Regex>(pattern);
  } catch (const Error& error) {
    info.Fail(error.message(), error.code());
  }
}

class StringNormalizer final : public OpKernel {
 public:
  explicit StringNormalizer(OpKernelInfo& info)
      : sensitive_(info.attributes().Int("is_case_sensitive", 0) != 0) {
    const std::string action = info.attributes().String("case_change_action", "NONE");
    action_ = action == "LOWER"   ? Action::kLower
              : action == "UPPER" ? Action::kUpper
                                  : Action::kNone;
    if (action_ == Action::kNone && action != "NONE") {
      info.Fail("case_change_action '" + action + "' is none of LOWER, UPPER, NONE");
    }
    for (const std::string& word : info.attributes().Strings("stopwords")) {
      stop_.insert(sensitive_ ? word : text::Lower(word));
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const bool row = x.rank() == 2 && x.dim(0) == 1;
    if (x.rank() != 1 && !row) context.Fail("the input must be [C] or [1, C], is " + x.Describe());
    const std::string* from = x.data<std::string>();
    std::vector<const std::string*> kept;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (!Stops(from[i])) kept.push_back(from + i);
    }
    const bool none = kept.empty() && x.size() > 0;
    const std::int64_t count = none ? 1 : std::ssize(kept);
    const std::int64_t dims[2] = {1, count};
    Tensor& y = context.Output(
        0, row ? std::span<const std::int64_t>(dims) : std::span<const std::int64_t>(dims + 1, 1));
    std::string* to = y.data_mutable<std::string>();
    if (none) return to->clear();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      to[i] = action_ == Action::kLower   ? text::Lower(*kept[i])
              : action_ == Action::kUpper ? text::Upper(*kept[i])
                                          : *kept[i];
    }
  }

 private:
  enum class Action { kNone, kLower, kUpper };
  bool Stops(const std::string& word) const {
    return !stop_.empty() && stop_.count(sensitive_ ? word : text::Lower(word)) != 0;
  }

  bool sensitive_;
  Action action_;
  std::unordered_set<std::string> stop_;
};

class StringConcat final : public OpKernel {
 public:
  explicit StringConcat(OpKernelInfo&) {}
  std::size_t state_bytes() const override { return sizeof(BroadcastState); }
  void Prepare(PrepareContext& context) const override {
    auto& state = context.State<BroadcastState>();
    const Dims out = BroadcastDimsOf(context, context.input_dims(0), context.input_dims(1));
    StoreDims(context, out, &state.out);
    MakePlan(context, out, {context.input_dims(0), context.input_dims(1)}, &state.plan);
  }
  void Compute(OpKernelContext& context) const override {
    const auto& state = context.State<BroadcastState>();
    const std::string* a = context.Input(0).data<std::string>();
    const std::string* b = context.Input(1).data<std::string>();
    std::string* y = context.Output(0, state.out.span()).data_mutable<std::string>();
    math::BroadcastCursor cursor(state.plan, 0);
    for (std::int64_t i = 0; i < state.plan.size; ++i) {
      y[i] = a[cursor.offset(0)] + b[cursor.offset(1)];
      cursor.Advance(1);
    }
  }
};

class StringSplit final : public OpKernel {
 public:
  explicit StringSplit(OpKernelInfo& info)
      : delimiter_(info.attributes().String("delimiter", "")),
        most_(info.attributes().Has("maxsplit") ? info.attributes().Int("maxsplit", 0)
                                                : std::numeric_limits<std::int64_t>::max()) {
    if (most_ < 0) most_ = std::numeric_limits<std::int64_t>::max();
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    std::vector<std::vector<std::string_view>> parts(static_cast<std::size_t>(x.size()));
    std::size_t widest = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string& value = x.data<std::string>()[i];
      if (delimiter_.empty()) {
        SplitSpaces(value, &parts[i]);
      } else {
        SplitAt(value, &parts[i]);
      }
      widest = std::max(widest, parts[i].size());
    }
    Dims dims(x.dims());
    dims.push_back(static_cast<std::int64_t>(widest));
    std::string* y =
        context.has_output(0) ? context.Output(0, dims).data_mutable<std::string>() : nullptr;
    std::int64_t* z =
        context.has_output(1) ? context.Output(1, x.dims()).data_mutable<std::int64_t>() : nullptr;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (z != nullptr) z[i] = std::ssize(parts[i]);
      for (std::size_t k = 0; y != nullptr && k < widest; ++k) {
        y[i * widest + k] = k < parts[i].size() ? parts[i][k] : std::string_view();
      }
    }
  }

 private:
  void SplitAt(std::string_view value, std::vector<std::string_view>* parts) const {
    std::int64_t left = most_;
    for (std::size_t end; left > 0 && (end = value.find(delimiter_)) != std::string_view::npos;
         --left) {
      parts->push_back(value.substr(0, end));
      value.remove_prefix(end + delimiter_.size());
    }
    parts->push_back(value);
  }

  void SplitSpaces(std::string_view value, std::vector<std::string_view>* parts) const {
    std::size_t at = 0, bytes = 0;
    const auto skip = [&](bool space) {
      for (; at < value.size() && text::IsSpace(text::Decode(value, at, &bytes)) == space;) {
        at += bytes;
      }
    };
    for (std::int64_t left = most_;; --left) {
      skip(true);
      if (at >= value.size()) return;
      const std::size_t begin = at;
      if (left > 0) skip(false);
      parts->push_back(left > 0 ? value.substr(begin, at - begin) : value.substr(begin));
      if (left == 0) return;
    }
  }

  std::string delimiter_;
  std::int64_t most_;
};

class RegexFullMatch final : public OpKernel {
 public:
  explicit RegexFullMatch(OpKernelInfo& info)
      : regex_(MakeRegex(info, info.attributes().String("pattern", ""))) {
    if (!info.attributes().Has("pattern")) info.Fail("attribute 'pattern' is missing");
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const std::string* from = x.data<std::string>();
    bool* y = context.Output(0, x.dims()).data_mutable<bool>();
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = regex_->FullMatch(from[i]);
  }

 private:
  std::unique_ptr<text::Regex> regex_;
};

// N-grams of the pool as a trie over token numbers.
class TfIdfVectorizer final : public OpKernel {
 public:
  explicit TfIdfVectorizer(OpKernelInfo& info)
      : shortest_(info.attributes().Int("min_gram_length", 1)),
        longest_(info.attributes().Int("max_gram_length", 1)),
        skips_(info.attributes().Int("max_skip_count", 0)) {
    if (shortest_ < 1 || longest_ < shortest_ || skips_ < 0) {
      info.Fail("min_gram_length " + std::to_string(shortest_) + ", max_gram_length " +
                std::to_string(longest_) + ", max_skip_count " + std::to_string(skips_));
    }
    const std::string mode = info.attributes().String("mode", "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
      info.Fail("mode '" + mode + "' is none of TF, IDF, TFIDF");
    }
    counts_matter_ = mode != "IDF";
    ReadPool(info);
    ReadOutputs(info, mode != "TF");
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 1 && x.rank() != 2) {
      context.Fail("the input must be [C] or [N, C], is " + x.Describe());
    }
    const std::int64_t rows = x.rank() == 1 ? 1 : x.dim(0);
    const std::int64_t columns = x.dim(x.rank() - 1);
    const std::int64_t dims[2] = {rows, width_};
    Tensor& y = context.Output(0, x.rank() == 1 ? std::span<const std::int64_t>(dims + 1, 1)
                                                : std::span<const std::int64_t>(dims));
    float* to = y.data_mutable<float>();
    std::fill_n(to, y.size(), 0.0f);
    ParallelItems(context, rows, 30.0 * static_cast<double>(columns * (skips_ + 1)),
                  [&](std::int64_t begin, std::int64_t end) {
                    std::vector<std::int64_t> tokens(static_cast<std::size_t>(columns));
                    std::vector<std::int64_t> counts(outputs_.size());
                    for (std::int64_t r = begin; r < end; ++r) {
                      ReadTokens(x, r * columns, &tokens);
                      std::fill(counts.begin(), counts.end(), 0);
                      Count(tokens, &counts);
                      Write(counts, to + r * width_);
                    }
                  });
  }

 private:
  static constexpr std::int64_t kNone = -1;
  struct Output {
    std::int64_t column;
    float weight;
  };

  std::int64_t Child(std::int64_t node, std::int64_t token) const {
    const auto it = edges_.find(node * tokens_ + token);
    return it == edges_.end() ? kNone : it->second;
  }

  // Pool entry i of count: a token number.
  std::vector<std::int64_t> NumberTokens(const OpKernelInfo& info) {
    const auto strings = info.attributes().Strings("pool_strings");
    const auto ints = info.attributes().Ints("pool_int64s");
    if (strings.empty() == ints.empty()) {
      info.Fail("one of pool_strings and pool_int64s must be given");
    }
    if ((info.input_type(0).elem == DataType::kString) != ints.empty()) {
      info.Fail("the pool is of another kind than the input, " + info.input_type(0).ToString());
    }
    std::vector<std::int64_t> numbers;
    for (const std::string& s : strings) {
      numbers.push_back(text_tokens_.emplace(s, std::ssize(text_tokens_)).first->second);
    }
    for (const std::int64_t i : ints) {
      numbers.push_back(int_tokens_.emplace(i, std::ssize(int_tokens_)).first->second);
    }
    tokens_ = std::ssize(text_tokens_) + std::ssize(int_tokens_);
    return numbers;
  }

  void ReadPool(const OpKernelInfo& info) {
    const std::vector<std::int64_t> pool = NumberTokens(info);
    const auto starts = info.attributes().Ints("ngram_counts");
    if (starts.empty() || std::ssize(starts) < longest_) {
      info.Fail("ngram_counts has " + std::to_string(starts.size()) + " entries, expected " +
                std::to_string(longest_));
    }
    grams_of_node_.push_back(kNone);
    std::int64_t grams = 0;
    for (std::size_t n = 0; n < starts.size(); ++n) {
      const std::int64_t size = static_cast<std::int64_t>(n) + 1;
      const std::int64_t end = n + 1 < starts.size() ? starts[n + 1] : std::ssize(pool);
      if (starts[n] < 0 || end < starts[n] || end > std::ssize(pool) ||
          (end - starts[n]) % size != 0) {
        info.Fail("ngram_counts does not divide the pool of " + std::to_string(pool.size()));
      }
      for (std::int64_t at = starts[n]; at < end; at += size) {
        Insert({pool.data() + at, static_cast<std::size_t>(size)}, grams++);
      }
    }
    outputs_.resize(static_cast<std::size_t>(grams));
  }

  void Insert(std::span<const std::int64_t> gram, std::int64_t number) {
    std::int64_t node = 0;
    for (const std::int64_t token : gram) {
      const auto [it, is_new] = edges_.emplace(node * tokens_ + token, std::ssize(grams_of_node_));
      if (is_new) grams_of_node_.push_back(kNone);
      node = it->second;
    }
    grams_of_node_[static_cast<std::size_t>(node)] = number;
  }

  void ReadOutputs(const OpKernelInfo& info, bool weighted) {
    const auto columns = info.attributes().Ints("ngram_indexes");
    const auto weights = info.attributes().Floats("weights");
    if (columns.size() != outputs_.size()) {
      info.Fail("ngram_indexes has " + std::to_string(columns.size()) + " entries for " +
                std::to_string(outputs_.size()) + " n-grams");
    }
    if (!weights.empty() && weights.size() != columns.size()) {
      info.Fail("weights has " + std::to_string(weights.size()) + " entries for " +
                std::to_string(columns.size()) + " n-grams");
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0 || columns[i] > (std::int64_t{1} << 31)) {
        info.Fail("ngram_indexes has " + std::to_string(columns[i]));
      }
      outputs_[i] = {columns[i], weighted && !weights.empty() ? weights[i] : 1.0f};
      width_ = std::max(width_, columns[i] + 1);
    }
  }

  void ReadTokens(const Tensor& x, std::int64_t begin, std::vector<std::int64_t>* tokens) const {
    for (std::size_t i = 0; i < tokens->size(); ++i) {
      const auto at = begin + static_cast<std::int64_t>(i);
      if (x.type() == DataType::kString) {
        const auto it = text_tokens_.find(x.data<std::string>()[at]);
        (*tokens)[i] = it == text_tokens_.end() ? kNone : it->second;
      } else {
        const std::int64_t value =
            x.type() == DataType::kInt32 ? x.data<std::int32_t>()[at] : x.data<std::int64_t>()[at];
        const auto it = int_tokens_.find(value);
        (*tokens)[i] = it == int_tokens_.end() ? kNone : it->second;
      }
    }
  }

  // Single tokens are counted once, not once per number of skips.
  void Count(std::span<const std::int64_t> tokens, std::vector<std::int64_t>* counts) const {
    const std::int64_t length = std::ssize(tokens);
    for (std::int64_t skip = 0; skip <= skips_ && (skip == 0 || skip + 1 < length); ++skip) {
      for (std::int64_t start = 0; start < length; ++start) {
        std::int64_t node = 0, at = start;
        for (std::int64_t n = 1; n <= longest_ && at < length; ++n, at += skip + 1) {
          const std::int64_t token = tokens[static_cast<std::size_t>(at)];
          node = token == kNone ? kNone : Child(node, token);
          if (node == kNone) break;
          const std::int64_t gram = grams_of_node_[static_cast<std::size_t>(node)];
          if (gram == kNone || n < shortest_ || (n == 1 && skip > 0)) continue;
          ++(*counts)[static_cast<std::size_t>(gram)];
        }
      }
    }
  }

  void Write(const std::vector<std::int64_t>& counts, float* to) const {
    for (std::size_t g = 0; g < counts.size(); ++g) {
      if (counts[g] == 0) continue;
      const float count = counts_matter_ ? static_cast<float>(counts[g]) : 1.0f;
      to[outputs_[g].column] += count * outputs_[g].weight;
    }
  }

  std::int64_t shortest_, longest_, skips_;
  bool counts_matter_ = true;
  std::int64_t tokens_ = 0, width_ = 0;
  std::unordered_map<std::string, std::int64_t> text_tokens_;
  std::unordered_map<std::int64_t, std::int64_t> int_tokens_;
  std::unordered_map<std::int64_t, std::int64_t> edges_;  // node * tokens_ + token to node
  std::vector<std::int64_t> grams_of_node_;
  std::vector<Output> outputs_;
};

// com.microsoft: texts to lists of tokens, padded to the longest list. Tokens are what tokenexp
// matches, or what lies between separators; a single empty separator makes every character one.
class Tokenizer final : public OpKernel {
 public:
  explicit Tokenizer(OpKernelInfo& info)
      : mark_(info.attributes().Int("mark", 0) != 0),
        least_(info.attributes().Int("mincharnum", 1)),
        pad_(info.attributes().String("pad_value", "")) {
    const std::string expression = info.attributes().String("tokenexp", "");
    const auto separators = info.attributes().Strings("separators");
    if (least_ < 1) info.Fail("mincharnum is " + std::to_string(least_));
    if (expression.empty() == separators.empty()) {
      info.Fail("one of tokenexp and separators must be given");
    }
    if (!expression.empty()) token_ = MakeRegex(info, expression);
    by_character_ = separators.size() == 1 && separators[0].empty();
    if (by_character_) return;
    for (const std::string& s : separators) {
      if (s.empty()) info.Fail("a separator is empty");
      separators_.push_back(MakeRegex(info, s));
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 1 && x.rank() != 2) {
      context.Fail("the input must be [C] or [N, C], is " + x.Describe());
    }
    const std::string* from = x.data<std::string>();
    std::vector<std::vector<std::string_view>> tokens(static_cast<std::size_t>(x.size()));
    std::size_t widest = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      Tokens(from[i], &tokens[i]);
      widest = std::max(widest, tokens[i].size());
    }
    const std::size_t width = widest + (mark_ && x.size() > 0 ? 2 : 0);
    Dims dims(x.dims());
    dims.push_back(static_cast<std::int64_t>(width));
    std::string* y = context.Output(0, dims).data_mutable<std::string>();
    for (const auto& list : tokens) {
      std::string* end = y + width;
      if (mark_) *y++ = "\x02";
      for (const std::string_view token : list) *y++ = token;
      if (mark_) *y++ = "\x03";
      while (y != end) *y++ = pad_;
    }
  }

 private:
  void Keep(std::string_view token, std::vector<std::string_view>* tokens) const {
    if (!token.empty() && static_cast<std::int64_t>(text::Length(token)) >= least_) {
      tokens->push_back(token);
    }
  }

  void Tokens(std::string_view value, std::vector<std::string_view>* tokens) const {
    if (by_character_) {
      for (std::size_t at = 0, bytes = 0; at < value.size(); at += bytes) {
        text::Decode(value, at, &bytes);
        Keep(value.substr(at, bytes), tokens);
      }
      return;
    }
    if (token_ != nullptr) {
      ForMatches(*token_, value, [&](std::size_t begin, std::size_t end) {
        Keep(value.substr(begin, end - begin), tokens);
      });
      return;
    }
    std::vector<std::string_view> pieces = {value};
    for (const auto& separator : separators_) {
      std::vector<std::string_view> smaller;
      for (const std::string_view piece : pieces) {
        std::size_t last = 0;
        ForMatches(*separator, piece, [&](std::size_t begin, std::size_t end) {
          smaller.push_back(piece.substr(last, begin - last));
          last = end;
        });
        smaller.push_back(piece.substr(last));
      }
      pieces = std::move(smaller);
    }
    for (const std::string_view piece : pieces) Keep(piece, tokens);
  }

  // Matches that are not empty, one after the other.
  template <typename F>
  static void ForMatches(const text::Regex& regex, std::string_view value, F&& f) {
    std::size_t begin = 0, end = 0;
    for (std::size_t at = 0; at < value.size() && regex.Find(value, at, &begin, &end);) {
      if (end == begin) {
        std::size_t bytes = 1;
        if (begin < value.size()) text::Decode(value, begin, &bytes);
        at = begin + bytes;
        continue;
      }
      f(begin, end);
      at = end;
    }
  }

  bool mark_, by_character_ = false;
  std::int64_t least_;
  std::string pad_;
  std::unique_ptr<text::Regex> token_;
  std::vector<std::unique_ptr<text::Regex>> separators_;
};

}  // namespace

void Register(KernelRegistry& registry) {
  const TypeSet text = types::kString;
  registry.Register(
      KernelCreateInfo::For("StringNormalizer").Input(0, text).Make<StringNormalizer>());
  registry.Register(KernelCreateInfo::For("StringConcat").Input(0, text).Make<StringConcat>());
  registry.Register(KernelCreateInfo::For("StringSplit").Input(0, text).Make<StringSplit>());
  registry.Register(KernelCreateInfo::For("RegexFullMatch").Input(0, text).Make<RegexFullMatch>());
  registry.Register(KernelCreateInfo::For("TfIdfVectorizer")
                        .Input(0, text | types::kIndex)
                        .Make<TfIdfVectorizer>());
  registry.Register(
      KernelCreateInfo::For("Tokenizer", "com.microsoft").Input(0, text).Make<Tokenizer>());
}

}  // namespace switchyard::cpu::kernels::strings
