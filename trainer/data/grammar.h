// The embedded text is drawn from a Markov source of words, so that the perplexity of the best
// model is known. Only IEEE additions, multiplications and divisions decide a draw, so the words
// are the same on every machine.
//
// Word v follows word w with probability kBlend z(v) + (1 - kBlend) q(w, v): z falls off as 1 /
// rank (Zipf), and q(w, .) has kSuccessors words that w itself prefers. The source is therefore a
// chain whose entropy rate is the mean of the entropies of the rows, weighted by how often each
// word comes in the long run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/corpus.h"

namespace legacy {

// A Grammar is a source of words. Word 0 is "<eos>".
class Grammar {
 public:
  static constexpr int kSuccessors = 8;
  static constexpr double kBlend = 0.25;

  // Draws the preferences of a source of `vocabulary` words, from 2 to 1,000,000. Throws Error
  // otherwise.
  explicit Grammar(int vocabulary);

  int vocabulary() const { return static_cast<int>(zipf_.size()); }
  // Returns the probability that `next` follows `word`.
  double Probability(int word, int next) const;
  // Returns how often each word comes in the long run; the sum is 1.
  std::span<const double> stationary() const { return stationary_; }
  // Returns the entropy rate in nats a word.
  double EntropyRate() const;
  // Returns the entropy in nats of a word whose predecessor is unknown.
  double WordEntropy() const;
  // Returns `count` words of the split `part`, each a pure function of vocabulary, part and
  // position, starting after an "<eos>".
  std::vector<int32_t> Draw(uint32_t part, int64_t count) const;
  // Returns a pronounceable name of each word.
  std::vector<std::string> Names() const;

 private:
  struct Row {
    std::array<int32_t, kSuccessors> words;
  };

  // Returns the word at which the sum of z exceeds `uniform`, in [0, 1).
  int32_t Zipfian(double uniform) const;

  std::vector<double> zipf_;        // z(v)
  std::vector<double> cumulative_;  // z(0) + ... + z(v)
  std::vector<Row> rows_;           // the words that each word prefers
  std::vector<double> stationary_;
};

// Returns a corpus of `tokens` training words, and a tenth of them (at least 1,000) for validation
// and for test.
Corpus DrawGrammar(int vocabulary, int64_t tokens);

}  // namespace legacy
