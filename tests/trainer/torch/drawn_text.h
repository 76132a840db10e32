// A language to learn, for tests.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/torch/tasks/language.h"

namespace legacy::test {

// A text of 12 words in which each is followed by one of two, in windows of 5.
inline const LanguageModelling& DrawnText() {
  constexpr int kWords = 12;
  static const LanguageModelling task = [] {
    std::vector<int32_t> tokens = {0};
    while (tokens.size() < 400) {
      const auto i = static_cast<int32_t>(tokens.size());
      tokens.push_back((3 * tokens.back() + 1 + (i * i / 7) % 2) % kWords);
    }
    Corpus corpus;
    corpus.name = "drawn";
    corpus.unit = TextUnit::kWords;
    corpus.vocabulary.resize(kWords);
    corpus.test = TokenFile(std::vector<int32_t>(tokens.begin(), tokens.begin() + 60));
    corpus.train = TokenFile(std::move(tokens));
    return LanguageModelling(std::move(corpus), 5, 2);
  }();
  return task;
}

}  // namespace legacy::test
