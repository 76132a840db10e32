// Reads files of text as tokens: words, characters or bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trainer/data/corpus.h"

namespace legacy {

inline constexpr const char* kEndOfLine = "<eos>";

// A Numbering gives texts ids in the order of their first appearance.
class Numbering {
 public:
  // Returns the id of a text, and whether it is a new one.
  std::pair<int32_t, bool> Add(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return {found->second, false};
    const auto id = static_cast<int32_t>(ids_.size());
    ids_.emplace(std::string(text), id);
    return {id, true};
  }
  std::optional<int32_t> Find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found != ids_.end() ? std::optional(found->second) : std::nullopt;
  }
  size_t size() const { return ids_.size(); }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts(ids_.size());
    for (const auto& [text, id] : ids_) texts[static_cast<size_t>(id)] = text;
    return texts;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
};

// Appends the tokens of a file, plain or gzipped, to `ids`: words with the end of each line,
// characters, or bytes, which are their own ids. Throws Error with the file and the byte at which
// it is not text.
void ReadTokens(const std::filesystem::path& file, TextUnit unit, Numbering& numbering,
                std::vector<int32_t>& ids);

}  // namespace legacy
