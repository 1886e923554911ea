#pragma once
// The WordPiece tokeniser of BERT's lower-case vocabularies, for ASCII text.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace embedding {

class WordPieces {
 public:
  // A vocabulary file has one piece a line; its number is its line. Throws std::runtime_error.
  explicit WordPieces(const std::string& vocabulary);
  // [CLS] pieces [SEP]; a word without pieces is [UNK].
  std::vector<std::int64_t> Encode(std::string_view text) const;

 private:
  std::int64_t Special(const char* piece) const;
  void AddWord(const std::string& word, std::vector<std::int64_t>& ids) const;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::int64_t unknown_ = 0, first_ = 0, last_ = 0;
};

}  // namespace embedding
