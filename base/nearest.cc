#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/parse.h"

namespace legacy {
namespace {

// A longer list is left out if there is a command that prints it.
constexpr size_t kMostListed = 12;

// Words that other programs use for our options and values, each with our own word. Both are
// without hyphens.
constexpr std::array kSynonyms = {
    std::pair("batchsize", "batch"),     std::pair("compression", "policies"),
    std::pair("compressor", "policies"), std::pair("data", "dataset"),
    std::pair("epoch", "steps"),         std::pair("epochs", "steps"),
    std::pair("gpt2", "gpt2small"),      std::pair("gpu", "cuda"),
    std::pair("gpus", "workers"),        std::pair("vgg", "vgg16"),
    std::pair("latency", "delay"),       std::pair("lr", "learningrate"),
    std::pair("method", "policies"),     std::pair("methods", "policies"),
    std::pair("nodes", "workers"),       std::pair("numworkers", "workers"),
    std::pair("optim", "optimizer"),     std::pair("output", "out"),
    std::pair("policy", "policies"),     std::pair("randk", "randomk"),
    std::pair("rdma", "roce"),           std::pair("rocev2", "roce"),
    std::pair("sparsity", "density"),    std::pair("tcp", "datacenter"),
    std::pair("topology", "topo"),       std::pair("wd", "weightdecay"),
};

// Returns the letters and digits of a name, in small letters.
std::string Plain(const std::string& name) {
  std::string plain;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) plain += static_cast<char>(std::tolower(c));
  }
  return plain;
}

}  // namespace

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before = row;
    row.swap(next);
  }
  return row[b.size()];
}

std::string Nearest(const std::string& name, const std::vector<std::string>& known) {
  const std::string plain = Plain(name);
  const auto same = [&](const std::string& word) {
    return std::find_if(known.begin(), known.end(),
                        [&](const std::string& k) { return Plain(k) == word; });
  };
  if (const auto found = same(plain); found != known.end() && !plain.empty()) return *found;
  for (const auto& [other, ours] : kSynonyms) {
    if (plain != other) continue;
    if (const auto found = same(ours); found != known.end()) return *found;
  }
  std::string best;
  if (plain.size() < 3) return best;
  size_t distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t d = EditDistance(name, candidate);
    if (d < distance) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

Error NotAmong(const std::string& option, const std::string& value,
               const std::vector<std::string>& known, const std::string& list,
               const std::string& also) {
  const std::string all = list.empty() || known.size() <= kMostListed
                              ? "allowed: " + (known.empty() ? "no keys" : Join(known, ", "))
                              : list + " prints all " + std::to_string(known.size());
  return Error::Refusal(option + ": got '" + value + "'" + DidYouMean(value, known) + "; " + all +
                        (also.empty() ? "" : ", or " + also));
}

}  // namespace legacy
