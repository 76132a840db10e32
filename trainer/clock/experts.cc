#include "trainer/clock/experts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr double kMostCapacity = 1e4, kMostExponent = 16, kMostCount = 1e15;
constexpr const char* kKey = "clock.experts";

// Returns the value of "name:value"; nullopt for other texts.
std::optional<double> AmountOf(const std::string& text, const std::string& name,
                               const std::string& key, double least, double most) {
  if (!text.starts_with(name)) return std::nullopt;
  return ParseNumber(text.substr(name.size()), key, least, most);
}

std::vector<std::vector<double>> ReadCounts(const std::string& path) {
  std::vector<std::vector<double>> counts;
  std::istringstream lines(ReadWholeFile(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream fields(line);
    std::vector<double> row;
    const std::string where = path + ":" + std::to_string(number);
    for (std::string field; fields >> field;) {
      row.push_back(ParseNumber(field, where, 0, kMostCount));
    }
    if (row.empty()) continue;
    if (!counts.empty() && row.size() != counts.front().size()) {
      throw Error(where, std::to_string(row.size()) + " counts",
                  std::to_string(counts.front().size()) + ", as the first line has");
    }
    if (std::accumulate(row.begin(), row.end(), 0.0) == 0) {
      throw Error(where, "0 tokens", "a count above 0");
    }
    counts.push_back(std::move(row));
  }
  if (counts.empty()) throw Error::Refusal(path + ": has no counts");
  return counts;
}

// Scales shares to a sum of 1 in which none has more than `most`: what is above it goes to the
// others in proportion, or in even shares if these have nothing.
void Limit(std::vector<double>& shares, double most) {
  std::vector<bool> full(shares.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    double left = 1, sum = 0, others = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      left -= full[i] ? most : 0;
      sum += full[i] ? 0 : shares[i];
      others += full[i] ? 0 : 1;
    }
    for (size_t i = 0; i < shares.size(); ++i) {
      if (full[i]) continue;
      shares[i] = sum > 0 ? shares[i] * left / sum : left / others;
      if (shares[i] <= most) continue;
      shares[i] = most;
      changed = full[i] = true;
    }
  }
}

// Returns the shares of all experts in the tokens of a rank.
std::vector<double> SharesOfRank(const ExpertLoad& load, int experts, int used, size_t rank) {
  std::vector<double> shares;
  if (load.kind == ExpertLoad::Kind::kCounts) {
    shares = load.counts[load.counts.size() == 1 ? 0 : rank];
  } else {
    for (int i = 0; i < experts; ++i) shares.push_back(std::pow(i + 1, -load.amount));
  }
  Limit(shares, 1.0 / used);
  return shares;
}

}  // namespace

ExpertLoad ParseExpertLoad(const std::string& text, const std::string& key) {
  using Kind = ExpertLoad::Kind;
  if (text == "balanced") return {};
  if (const auto amount = AmountOf(text, "capacity:", key, 1e-3, kMostCapacity)) {
    return {.kind = Kind::kCapacity, .amount = *amount, .text = text};
  }
  if (const auto amount = AmountOf(text, "zipf:", key, 0, kMostExponent)) {
    return {.kind = Kind::kZipf, .amount = *amount, .text = text};
  }
  if (!std::filesystem::is_regular_file(text)) {
    throw Error(key, text, "balanced, capacity:F, zipf:A, or a file of counts");
  }
  return {.kind = Kind::kCounts, .counts = ReadCounts(text), .text = text};
}

std::vector<double> ExpertShares(const ExpertLoad& load, int experts, int used, int ranks) {
  using Kind = ExpertLoad::Kind;
  if (load.kind == Kind::kBalanced || load.kind == Kind::kCapacity) return {};
  const auto groups = static_cast<size_t>(ranks);
  if (load.kind == Kind::kCounts) {
    if (std::ssize(load.counts.front()) != experts) {
      throw Error(kKey,
                  load.text + " with " + std::to_string(load.counts.front().size()) + " counts",
                  "one for each of the " + std::to_string(experts) + " experts");
    }
    if (load.counts.size() > 1 && load.counts.size() != groups) {
      throw Error(
          kKey, load.text + " with " + std::to_string(load.counts.size()) + " lines",
          "one, or one for each of the " + std::to_string(ranks) + " ranks of clock.parallel ep");
    }
  }
  const auto each = static_cast<std::ptrdiff_t>(experts / ranks);
  std::vector<double> shares;
  for (size_t rank = 0; rank < groups; ++rank) {
    const std::vector<double> of_experts = SharesOfRank(load, experts, used, rank);
    for (auto from = of_experts.begin(); from != of_experts.end(); from += each) {
      shares.push_back(std::accumulate(from, from + each, 0.0));
    }
  }
  return shares;
}

double SlowestShare(const ExpertLoad& load, int experts, int used, int ranks, double tokens) {
  if (load.kind == ExpertLoad::Kind::kCapacity) {
    const double even = used * tokens * ranks / experts;  // tokens of an expert
    return std::ceil(load.amount * even) / even;
  }
  const std::vector<double> shares = ExpertShares(load, experts, used, ranks);
  if (shares.empty() || ranks == 1) return 1;
  double most = 0;
  const auto groups = static_cast<size_t>(ranks);
  for (size_t to = 0; to < groups; ++to) {
    double sum = 0;
    for (size_t from = 0; from < groups; ++from) sum += shares[from * groups + to];
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace legacy
