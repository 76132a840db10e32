#include "trainer/data/grammar.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace legacy {
namespace {

// Shares of the words that a word prefers; their sum is 1.
constexpr std::array<double, Grammar::kSuccessors> kShares = {.3, .2, .15, .1, .1, .05, .05, .05};
// Zipf's weights are 1 / (rank + kShift), where the shift keeps the first word from taking every
// second place.
constexpr double kShift = 2.7;
constexpr int kPowerSteps = 200;    // of the stationary distribution; each shrinks its error by 3/4
constexpr uint32_t kRowLayer = 1;   // draws of the source itself
constexpr uint32_t kTextLayer = 2;  // draws of its words

RandomKey GrammarKey(int vocabulary, uint32_t layer, uint32_t part, uint64_t step) {
  return {.seed = static_cast<uint64_t>(vocabulary),
          .step = step,
          .worker = part,
          .layer = layer,
          .purpose = Purpose::kDataset};
}

}  // namespace

Grammar::Grammar(int vocabulary) {
  constexpr int kMost = 1'000'000;
  if (vocabulary < 2 || vocabulary > kMost) {
    throw Error("grammar: vocabulary", std::to_string(vocabulary), "2 to 1000000");
  }
  const auto size = static_cast<size_t>(vocabulary);
  zipf_.resize(size);
  cumulative_.resize(size);
  double sum = 0;
  for (size_t i = 0; i < size; ++i) sum += 1 / (static_cast<double>(i) + kShift);
  double before = 0;
  for (size_t i = 0; i < size; ++i) {
    zipf_[i] = 1 / (static_cast<double>(i) + kShift) / sum;
    cumulative_[i] = before += zipf_[i];
  }
  rows_.resize(size);
  for (size_t word = 0; word < size; ++word) {
    RandomStream random(GrammarKey(vocabulary, kRowLayer, 0, word));
    for (int32_t& next : rows_[word].words) next = Zipfian(random.Uniform());
  }
  // The chain returns to z from every word with probability kBlend, so that steps converge.
  stationary_ = zipf_;
  std::vector<double> next(size);
  for (int step = 0; step < kPowerSteps; ++step) {
    for (size_t i = 0; i < size; ++i) next[i] = kBlend * zipf_[i];
    for (size_t word = 0; word < size; ++word) {
      for (size_t j = 0; j < kShares.size(); ++j) {
        next[static_cast<size_t>(rows_[word].words[j])] +=
            (1 - kBlend) * kShares[j] * stationary_[word];
      }
    }
    std::swap(next, stationary_);
  }
}

int32_t Grammar::Zipfian(double uniform) const {
  const auto found = std::ranges::upper_bound(cumulative_, uniform);
  const auto index = std::min<std::ptrdiff_t>(found - cumulative_.begin(),
                                              static_cast<std::ptrdiff_t>(cumulative_.size()) - 1);
  return static_cast<int32_t>(index);
}

double Grammar::Probability(int word, int next) const {
  double preferred = 0;
  const Row& row = rows_[static_cast<size_t>(word)];
  for (size_t j = 0; j < kShares.size(); ++j) {
    if (row.words[j] == next) preferred += kShares[j];
  }
  return kBlend * zipf_[static_cast<size_t>(next)] + (1 - kBlend) * preferred;
}

double Grammar::EntropyRate() const {
  // A row differs from kBlend z in a few words only.
  const auto term = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  double background = 0;
  for (const double z : zipf_) background += term(kBlend * z);
  double rate = 0;
  for (size_t word = 0; word < rows_.size(); ++word) {
    std::array<int32_t, kSuccessors> words = rows_[word].words;
    std::ranges::sort(words);
    double entropy = background;
    for (size_t j = 0; j < words.size(); ++j) {
      if (j > 0 && words[j] == words[j - 1]) continue;
      entropy += term(Probability(static_cast<int>(word), words[j])) -
                 term(kBlend * zipf_[static_cast<size_t>(words[j])]);
    }
    rate += stationary_[word] * entropy;
  }
  return rate;
}

double Grammar::WordEntropy() const {
  double entropy = 0;
  for (const double p : stationary_) entropy -= p > 0 ? p * std::log(p) : 0;
  return entropy;
}

std::vector<int32_t> Grammar::Draw(uint32_t part, int64_t count) const {
  RandomStream random(GrammarKey(vocabulary(), kTextLayer, part, 0));
  std::vector<int32_t> words(static_cast<size_t>(count));
  int32_t word = 0;
  for (int32_t& next : words) {
    const double blend = random.Uniform();
    double share = random.Uniform();
    if (blend < kBlend) {
      word = Zipfian(share);
    } else {
      size_t j = 0;
      while (j + 1 < kShares.size() && share >= kShares[j]) share -= kShares[j++];
      word = rows_[static_cast<size_t>(word)].words[j];
    }
    next = word;
  }
  return words;
}

std::vector<std::string> Grammar::Names() const {
  constexpr std::string_view kConsonants = "bdfgklmnprstvz";
  constexpr std::string_view kVowels = "aeiou";
  constexpr size_t kSyllables = kConsonants.size() * kVowels.size();
  std::vector<std::string> names = {"<eos>"};
  for (size_t word = 1; word < zipf_.size(); ++word) {
    // Numerals without a zero, so that no two words are equal: a, b, ..., aa, ab, ...
    std::string name;
    for (size_t rest = word; rest > 0; rest = (rest - 1) / kSyllables) {
      const size_t syllable = (rest - 1) % kSyllables;
      name =
          std::string{kConsonants[syllable / kVowels.size()], kVowels[syllable % kVowels.size()]} +
          name;
    }
    names.push_back(name);
  }
  return names;
}

Corpus DrawGrammar(int vocabulary, int64_t tokens) {
  constexpr int64_t kLeast = 1000;
  const Grammar grammar(vocabulary);
  const int64_t further = std::max(kLeast, tokens / 10);
  Corpus corpus;
  corpus.train = TokenFile(grammar.Draw(0, tokens));
  corpus.valid = TokenFile(grammar.Draw(1, further));
  corpus.test = TokenFile(grammar.Draw(2, further));
  corpus.vocabulary = grammar.Names();
  corpus.least_perplexity = std::exp(grammar.EntropyRate());
  return corpus;
}

}  // namespace legacy
