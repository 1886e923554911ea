#include "word_pieces.h"

#include <cctype>
#include <fstream>
#include <stdexcept>

namespace embedding {

WordPieces::WordPieces(const std::string& vocabulary) {
  std::ifstream file(vocabulary);
  if (!file) throw std::runtime_error(vocabulary + ": can't be opened");
  for (std::string piece; std::getline(file, piece);) {
    if (!piece.empty() && piece.back() == '\r') piece.pop_back();
    ids_.emplace(piece, static_cast<std::int64_t>(ids_.size()));
  }
  unknown_ = Special("[UNK]");
  first_ = Special("[CLS]");
  last_ = Special("[SEP]");
}

std::int64_t WordPieces::Special(const char* piece) const {
  const auto it = ids_.find(piece);
  if (it == ids_.end()) throw std::runtime_error(std::string("the vocabulary has no ") + piece);
  return it->second;
}

void WordPieces::AddWord(const std::string& word, std::vector<std::int64_t>& ids) const {
  std::vector<std::int64_t> pieces;
  for (std::size_t begin = 0; begin < word.size();) {
    auto found = ids_.end();
    std::size_t end = word.size();
    for (; end > begin && found == ids_.end(); --end)
      found = ids_.find((begin > 0 ? "##" : "") + word.substr(begin, end - begin));
    if (found == ids_.end()) {
      ids.push_back(unknown_);
      return;
    }
    pieces.push_back(found->second);
    begin = end + 1;
  }
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

std::vector<std::int64_t> WordPieces::Encode(std::string_view text) const {
  std::vector<std::int64_t> ids = {first_};
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) AddWord(word, ids);
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isspace(byte) || std::ispunct(byte)) finish();
    if (std::ispunct(byte)) AddWord(std::string(1, c), ids);
    if (!std::isspace(byte) && !std::ispunct(byte)) word += static_cast<char>(std::tolower(byte));
  }
  finish();
  ids.push_back(last_);
  return ids;
}

}  // namespace embedding
