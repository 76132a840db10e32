// How long a step of a unit's exchange takes on this processor, and what work its collective calls
// name for that: what the codecs of measured profiles are measured by, and what their charges are
// checked against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// A scheme as it is measured.
struct SchemeCase {
  std::string scheme;  // as MakeScheme takes it
  bool error_feedback = true;
  double parameter = 1;
};

// The schemes of the table, each without and with error feedback where it can be: densities are 1
// %, a threshold passes about as much, other parameters are at their default. RedSync looks for its
// threshold in every step, whatever the size.
std::vector<SchemeCase> MeasuredSchemes();
// The same of one scheme.
std::vector<SchemeCase> CasesOf(const std::string& scheme);

// Each figure is the median of `runs`, each of which repeats its work for `seconds` at least.
struct Repetition {
  int runs = 9;
  double seconds = 0.02;
};

struct SchemeStep {
  double encode_seconds = 0;  // of one worker
  double decode_seconds = 0;  // of one receiver, for all messages; of an all-reduce, for the sum
  WorkList encode, decode;    // what its calls name
};

// Processor time of steps of each scheme for a square matrix of `numel` elements (a power of four),
// on one thread. Gradients are noise from step to step, with exponential tails. The schemes take
// turns, so that what else the machine does meets all of them.
std::vector<SchemeStep> MeasureSchemes(const std::vector<SchemeCase>& cases, int64_t numel,
                                       int workers, const Repetition& repetition);

// Of the process, all threads.
double ProcessorSeconds();

}  // namespace legacy
