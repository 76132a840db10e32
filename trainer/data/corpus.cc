#include "trainer/data/corpus.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "trainer/data/cache/file_digest.h"
#include "trainer/data/grammar.h"
#include "trainer/data/token_reader.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using Format = CatalogEntry::Format;

using Ids = std::vector<int32_t>;

constexpr const char* kUnknown = "<unk>";
constexpr int kByteValues = 256;
// The rules below, as part of the name of caches: a change of a rule changes the number.
constexpr const char* kCorpusRules = "tokens 1";

// A Draft is a text as ids in the order of first appearance, which are then renumbered.
struct Draft {
  Numbering numbering;
  std::array<Ids, 3> parts;       // training, validation, test
  std::array<fs::path, 3> files;  // where they come from
};

Draft ReadParts(const std::vector<fs::path>& files, TextUnit unit) {
  Draft draft;
  for (size_t i = 0; i < files.size(); ++i) {
    draft.files[i] = files[i];
    ReadTokens(files[i], unit, draft.numbering, draft.parts[i]);
  }
  if (files.size() == 1) {  // 90 %, 5 %, 5 %
    Ids& whole = draft.parts[0];
    const auto size = static_cast<std::ptrdiff_t>(whole.size());
    const std::ptrdiff_t valid = size / 10 * 9 + size % 10 * 9 / 10;
    const std::ptrdiff_t test = valid + (size - valid) / 2;
    draft.parts[1].assign(whole.begin() + valid, whole.begin() + test);
    draft.parts[2].assign(whole.begin() + test, whole.end());
    whole.resize(static_cast<size_t>(valid));
    whole.shrink_to_fit();
    draft.files.fill(files[0]);
  }
  constexpr size_t kLeast = 2;  // a token, and the one that follows it
  constexpr std::array<const char*, 3> kNames = {"training", "validation", "test"};
  for (size_t i = 0; i < draft.parts.size(); ++i) {
    if (draft.parts[i].size() >= kLeast) continue;
    throw Error(draft.files[i].string() + ": " + kNames[i] + " text",
                std::to_string(draft.parts[i].size()) + " " + UnitName(unit), "2 or more");
  }
  return draft;
}

// Renumbers all parts and moves them into the corpus.
void TakeParts(Draft& draft, const Ids& new_ids, Corpus& corpus) {
  for (Ids& ids : draft.parts) {
    for (int32_t& id : ids) id = new_ids[static_cast<size_t>(id)];
  }
  corpus.train = TokenFile(std::move(draft.parts[0]));
  corpus.valid = TokenFile(std::move(draft.parts[1]));
  corpus.test = TokenFile(std::move(draft.parts[2]));
}

// Throws Error if a word of validation or test has no new id.
void CheckAllKnown(const Draft& draft, const Ids& new_ids, const std::vector<std::string>& texts) {
  const int32_t end_of_line = draft.numbering.Find(kEndOfLine).value_or(-1);
  const bool split = draft.files[0] == draft.files[2];
  int64_t line = 1;  // each line ends with one token
  for (size_t part = 0; part < draft.parts.size(); ++part) {
    if (!split) line = 1;
    for (const int32_t id : draft.parts[part]) {
      line += id == end_of_line ? 1 : 0;
      if (new_ids[static_cast<size_t>(id)] >= 0) continue;
      throw Error(draft.files[part].string() + ":" + std::to_string(line) + ": word",
                  texts[static_cast<size_t>(id)],
                  "words of the training text, unless that has <unk> or vocabulary=N makes rare "
                  "words <unk>");
    }
  }
}

// Renumbers words by frequency. `most` > 0 keeps that many.
Corpus NumberWords(Draft draft, int64_t most) {
  const auto given_unknown = draft.numbering.Find(kUnknown);
  const bool cut = most > 0 && static_cast<int64_t>(draft.numbering.size()) > most;
  const int32_t unknown = given_unknown ? *given_unknown
                          : cut         ? draft.numbering.Add(kUnknown).first
                                        : -1;
  const std::vector<std::string> texts = draft.numbering.Texts();
  std::vector<int64_t> counts(texts.size());
  for (const int32_t id : draft.parts[0]) ++counts[static_cast<size_t>(id)];

  const auto by_count = [&] {
    Ids order(texts.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
      return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
    });
    return order;
  };
  // Target of each draft id: itself, or <unk>.
  Ids merged(texts.size());
  std::iota(merged.begin(), merged.end(), 0);
  if (cut) {
    int64_t kept = 1;  // <unk>
    for (const int32_t id : by_count()) {
      if (id == unknown || kept++ < most) continue;
      merged[static_cast<size_t>(id)] = unknown;
      counts[static_cast<size_t>(unknown)] += counts[static_cast<size_t>(id)];
      counts[static_cast<size_t>(id)] = 0;
    }
  }
  const bool has_unknown = unknown >= 0 && counts[static_cast<size_t>(unknown)] > 0;

  Corpus corpus;
  Ids new_ids(texts.size(), -1);
  for (const int32_t id : by_count()) {
    if (counts[static_cast<size_t>(id)] == 0) break;
    new_ids[static_cast<size_t>(id)] = static_cast<int32_t>(corpus.vocabulary.size());
    corpus.vocabulary.push_back(texts[static_cast<size_t>(id)]);
  }
  const std::vector<bool> in_training = [&] {
    std::vector<bool> seen(texts.size());
    for (const int32_t id : draft.parts[0]) seen[static_cast<size_t>(id)] = true;
    return seen;
  }();
  for (size_t id = 0; id < texts.size(); ++id) {
    if (new_ids[id] < 0 && has_unknown) new_ids[id] = new_ids[static_cast<size_t>(unknown)];
    if (merged[id] != static_cast<int32_t>(id)) new_ids[id] = new_ids[static_cast<size_t>(unknown)];
  }
  CheckAllKnown(draft, new_ids, texts);
  for (size_t part = 1; part < draft.parts.size(); ++part) {
    corpus.unknown += std::ranges::count_if(
        draft.parts[part], [&](int32_t id) { return !in_training[static_cast<size_t>(id)]; });
  }
  TakeParts(draft, new_ids, corpus);
  return corpus;
}

// Renumbers characters by frequency; those that occur only in validation and test come last.
Corpus NumberCharacters(Draft draft) {
  const std::vector<std::string> texts = draft.numbering.Texts();
  std::vector<int64_t> counts(texts.size());
  for (const int32_t id : draft.parts[0]) ++counts[static_cast<size_t>(id)];
  Ids order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  Corpus corpus;
  Ids new_ids(texts.size());
  for (const int32_t id : order) {
    new_ids[static_cast<size_t>(id)] = static_cast<int32_t>(corpus.vocabulary.size());
    corpus.vocabulary.push_back(texts[static_cast<size_t>(id)]);
  }
  TakeParts(draft, new_ids, corpus);
  return corpus;
}

Corpus NumberBytes(Draft draft) {
  Corpus corpus;
  for (int value = 0; value < kByteValues; ++value) {
    corpus.vocabulary.emplace_back(1, static_cast<char>(value));
  }
  corpus.train = TokenFile(std::move(draft.parts[0]));
  corpus.valid = TokenFile(std::move(draft.parts[1]));
  corpus.test = TokenFile(std::move(draft.parts[2]));
  return corpus;
}

// A TextRequest says how files become a corpus.
struct TextRequest {
  TextUnit unit = TextUnit::kWords;
  int64_t most_words = 0;  // 0: all
};

TextRequest RequestOf(const CatalogEntry& entry) {
  TextRequest request;
  if (entry.format == Format::kWordFiles) return request;
  const OptionReader options = entry.Options();
  const std::string& unit = options.Text("unit");
  request.unit = unit == "words"        ? TextUnit::kWords
                 : unit == "characters" ? TextUnit::kCharacters
                                        : TextUnit::kBytes;
  if (request.unit == TextUnit::kWords && options.Text("vocabulary") != "all") {
    request.most_words = options.Integer("vocabulary", 2, 10'000'000);
  }
  return request;
}

Corpus ReadFiles(const std::vector<fs::path>& files, const TextRequest& request) {
  Draft draft = ReadParts(files, request.unit);
  Corpus corpus = request.unit == TextUnit::kWords
                      ? NumberWords(std::move(draft), request.most_words)
                  : request.unit == TextUnit::kCharacters ? NumberCharacters(std::move(draft))
                                                          : NumberBytes(std::move(draft));
  corpus.unit = request.unit;
  return corpus;
}

// A cache is named after the set, and after everything that decides what is in it.
std::string CacheName(const CatalogEntry& entry, const std::vector<fs::path>& files,
                      const TextRequest& request) {
  std::string key = std::string(kCorpusRules) + '\0' + UnitName(request.unit) + '\0' +
                    std::to_string(request.most_words);
  for (const fs::path& file : files) key += '\0' + fs::absolute(file).lexically_normal().string();
  return entry.name + "-" + TextDigest(key).substr(0, 16);
}

enum : size_t { kTrain, kValid, kTest, kLengths, kTexts, kCounts, kSections };

bool InRange(std::span<const int32_t> ids, size_t vocabulary) {
  // One unsigned comparison finds negative ids, too. The loop does not end early, so that it is
  // vectorised.
  uint32_t largest = 0;
  for (const int32_t id : ids) largest = std::max(largest, static_cast<uint32_t>(id));
  return largest < vocabulary;
}

}  // namespace

const char* UnitName(TextUnit unit) {
  constexpr std::array<const char*, 3> kNames = {"words", "characters", "bytes"};
  return kNames[static_cast<size_t>(unit)];
}

TokenFile::TokenFile(std::vector<int32_t> tokens) {
  const auto kept = std::make_shared<const std::vector<int32_t>>(std::move(tokens));
  tokens_ = *kept;
  owner_ = kept;
}

TokenFile TokenFile::First(int64_t limit) const {
  if (limit <= 0 || limit >= size()) return *this;
  return {owner_, tokens_.first(static_cast<size_t>(limit))};
}

std::vector<Section> SectionsOf(const Corpus& corpus) {
  std::vector<Section> sections(kSections);
  size_t part = kTrain;
  for (const TokenFile* file : {&corpus.train, &corpus.valid, &corpus.test}) {
    sections[part++] = Section(file->owner(), std::as_bytes(file->tokens()));
  }
  std::vector<uint32_t> lengths;
  std::vector<char> texts;
  for (const std::string& text : corpus.vocabulary) {
    lengths.push_back(static_cast<uint32_t>(text.size()));
    texts.insert(texts.end(), text.begin(), text.end());
  }
  sections[kLengths] = Section::Of(std::move(lengths));
  sections[kTexts] = Section::Of(std::move(texts));
  sections[kCounts] = Section::Of(std::vector<int64_t>{corpus.unknown});
  return sections;
}

bool TakeCorpus(std::span<const Section> sections, Corpus& corpus) {
  if (sections.size() != kSections) return false;
  const auto lengths = sections[kLengths].As<uint32_t>();
  const auto counts = sections[kCounts].As<int64_t>();
  if (!lengths || !counts || counts->size() != 1) return false;
  const std::span<const std::byte> texts = sections[kTexts].bytes();
  std::vector<std::string> vocabulary;
  vocabulary.reserve(lengths->size());
  size_t at = 0;
  for (const uint32_t length : *lengths) {
    if (length > texts.size() - at) return false;
    vocabulary.emplace_back(reinterpret_cast<const char*>(texts.data()) + at, length);
    at += length;
  }
  if (at != texts.size()) return false;
  std::array<TokenFile, 3> files;
  for (size_t part = kTrain; part <= kTest; ++part) {
    const auto ids = sections[part].As<int32_t>();
    if (!ids || ids->size() < 2 || !InRange(*ids, vocabulary.size())) return false;
    files[part] = TokenFile(sections[part].owner(), *ids);
  }
  corpus.train = files[kTrain];
  corpus.valid = files[kValid];
  corpus.test = files[kTest];
  corpus.vocabulary = std::move(vocabulary);
  corpus.unknown = counts->front();
  return true;
}

Corpus ReadCorpus(const CatalogEntry& entry, const fs::path& root) {
  Corpus corpus;
  if (entry.format == Format::kGrammar) {
    const OptionReader options = entry.Options();
    corpus = DrawGrammar(static_cast<int>(options.Integer("vocabulary", 2, 1'000'000)),
                         options.Integer("tokens", 1000, 1'000'000'000));
  } else if (entry.format == Format::kWordFiles || entry.format == Format::kText) {
    CheckIsHere(entry, root);
    corpus = ReadFiles(DataFiles(entry, root), RequestOf(entry));
  } else {
    throw Error("data set", entry.name, "a text, such as ptb");
  }
  corpus.name = entry.name;
  return corpus;
}

Corpus LoadCorpus(const CatalogEntry& entry, const fs::path& root) {
  if (entry.format != Format::kWordFiles && entry.format != Format::kText) {
    return ReadCorpus(entry, root);
  }
  CheckIsHere(entry, root);
  const std::vector<fs::path> files = DataFiles(entry, root);
  const TextRequest request = RequestOf(entry);
  Corpus corpus;
  corpus.from_cache = MakeOnce(
      root / "cache", CacheName(entry, files, request), kCorpusRules, files,
      [&] { return SectionsOf(ReadFiles(files, request)); },
      [&](std::span<const Section> sections) { return TakeCorpus(sections, corpus); });
  corpus.name = entry.name;
  corpus.unit = request.unit;
  return corpus;
}

}  // namespace legacy
