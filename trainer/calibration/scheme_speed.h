// Scheme speed is how long a step of a unit's exchange takes on this processor, and what work its
// collective calls name for that. The codecs of measured profiles are measured by it, and their
// charges are checked against it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// A SchemeCase is a scheme as it is measured.
struct SchemeCase {
  std::string scheme;  // text that MakeScheme takes
  bool error_feedback = true;
  double parameter = 1;
};

// Returns the schemes of the table, each without and with error feedback where it can be. Densities
// are 1 %, a threshold passes about as much, other parameters are at their default. RedSync looks
// for its threshold in every step, whatever the size.
std::vector<SchemeCase> MeasuredSchemes();
// Returns the cases of one scheme.
std::vector<SchemeCase> CasesOf(const std::string& scheme);

// A Repetition says how figures are measured: each is the median of `runs`, each of which repeats
// its work for `seconds` at least.
struct Repetition {
  int runs = 9;
  double seconds = 0.02;
};

// A SchemeStep is what a step took, and named.
struct SchemeStep {
  double encode_seconds = 0;  // seconds of one worker
  // Seconds of one receiver, for all messages; of an all-reduce, for the sum.
  double decode_seconds = 0;
  WorkList encode, decode;  // work that its calls name
};

// Returns the processor time of steps of each scheme for a square matrix of `numel` elements (a
// power of four), on one thread. Gradients are noise from step to step, with exponential tails. The
// schemes take turns, so that what else the machine does meets all of them.
std::vector<SchemeStep> MeasureSchemes(const std::vector<SchemeCase>& cases, int64_t numel,
                                       int workers, const Repetition& repetition);

// Returns the processor seconds of all threads of the process.
double ProcessorSeconds();

}  // namespace legacy
