// A corpus is a text as numbers: training, validation and test tokens in order, and the vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/cache/cache_file.h"
#include "trainer/data/data_catalog.h"

namespace legacy {

enum class TextUnit : uint8_t { kWords, kCharacters, kBytes };

// Returns "words", "characters" or "bytes".
const char* UnitName(TextUnit unit);

// A TokenFile is a row of ids, in a file that is mapped into memory or in memory itself. Copies
// share the ids, which live as long as one of them does.
class TokenFile {
 public:
  TokenFile() = default;
  // `owner` keeps the memory of `tokens`.
  TokenFile(std::shared_ptr<const void> owner, std::span<const int32_t> tokens)
      : owner_(std::move(owner)), tokens_(tokens) {}
  // Takes the ids.
  explicit TokenFile(std::vector<int32_t> tokens);

  std::span<const int32_t> tokens() const { return tokens_; }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // Returns the first `limit` tokens; 0 returns all.
  TokenFile First(int64_t limit) const;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const int32_t> tokens_;
};

// A Corpus has ids in [0, vocabulary.size()).
struct Corpus {
  std::string name;  // of the data set
  TextUnit unit = TextUnit::kWords;
  TokenFile train;
  TokenFile valid;
  TokenFile test;
  // Text of each id. Words and characters come in the order of their frequency in the training
  // text, equal ones in the order of their first appearance; a byte's id is its value.
  std::vector<std::string> vocabulary;
  // Tokens of validation and test that the training text lacks, and that became "<unk>".
  int64_t unknown = 0;
  // The least perplexity that any model can reach on endless text of this source, where that is
  // known: the exponential of its entropy rate.
  std::optional<double> least_perplexity;
  bool from_cache = false;  // true where the ids were read from the cache

  int64_t vocabulary_size() const { return static_cast<int64_t>(vocabulary.size()); }
};

// Returns the corpus of a data set of words, characters or bytes. It is made of its files once and
// then read from `root`/cache, where its ids are mapped into memory; where that cannot be written,
// it stays in memory. A cache that is damaged, or whose sources have changed, is made again. Throws
// Error naming the file with the line or the byte offset.
//
// Words are separated by ASCII blanks, and each line ends with "<eos>", an empty one too. A word of
// validation or test that the training text lacks becomes "<unk>" where the training text has that
// word, and is refused otherwise. Characters are UTF-8 code points; the vocabulary has those of all
// parts. Bytes have 256 ids.
Corpus LoadCorpus(const CatalogEntry& entry, const std::filesystem::path& root);

// As LoadCorpus, without a cache: every file is read.
Corpus ReadCorpus(const CatalogEntry& entry, const std::filesystem::path& root);

// Takes the ids, the vocabulary and `unknown` out of what a cache of a corpus holds. Returns false
// where that is not a corpus: ids without a word, parts that are missing or cut.
bool TakeCorpus(std::span<const Section> sections, Corpus& corpus);
// Returns what a cache of the corpus holds.
std::vector<Section> SectionsOf(const Corpus& corpus);

}  // namespace legacy
