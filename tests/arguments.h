// A command line as main() receives it.
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace legacy {

class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_) values_.push_back(word.data());
  }
  // Splits a text into words.
  explicit Arguments(const std::string& text) : Arguments(Split(text)) {}
  Arguments(const Arguments&) = delete;  // values_ points into words_
  Arguments& operator=(const Arguments&) = delete;

  int count() const { return static_cast<int>(values_.size()); }
  char** values() { return values_.data(); }

 private:
  static std::vector<std::string> Split(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
  }

  std::vector<std::string> words_;
  std::vector<char*> values_;
};

}  // namespace legacy
