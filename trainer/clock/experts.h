// Experts are parts of a layer of which each token goes to a few (Shazeer et al., ICLR 2017). A
// load says which experts tokens go to; docs/parallel.md has the rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy {

// An ExpertLoad is the value of the option.
struct ExpertLoad {
  enum class Kind : uint8_t {
    kBalanced,  // each expert gets as many tokens
    kCapacity,  // buffers of experts have a size, and are sent full
    kZipf,      // expert i gets a share as 1 / (i + 1)^amount
    kCounts,    // as a file counted
  };
  Kind kind = Kind::kBalanced;
  double amount = 0;  // kCapacity: of the buffers, in even shares; kZipf: the exponent
  // kCounts: tokens that go to each expert, by rank of a group that divides experts. One row: all
  // ranks have the same.
  std::vector<std::vector<double>> counts = {};
  std::string text = "balanced";  // what was given
};

// Parses "balanced", "capacity:F", "zipf:A" or the path of a file, which has a line of counts for
// each rank or for all, with commas or spaces between them. Throws Error naming `key`, or file and
// line.
ExpertLoad ParseExpertLoad(const std::string& text, const std::string& key);

// ExpertShares are the parts of a rank's tokens that go to each rank of `ranks` that divide
// experts: row by row, `ranks` rows that sum up to 1 each; empty: equal parts. A token goes to
// `used` different ones of `experts`, so that none gets more than each token once. Throws Error
// where counts are those of other experts or ranks.
std::vector<double> ExpertShares(const ExpertLoad& load, int experts, int used, int ranks);

// Returns the tokens that the experts of the slowest of `ranks` ranks compute, over those of even
// shares. Buffers hold whole tokens, of `tokens` of a rank.
double SlowestShare(const ExpertLoad& load, int experts, int used, int ranks, double tokens);

}  // namespace legacy
