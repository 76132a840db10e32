// Scheme speed is the time of a step of a unit's exchange on this processor, with the work that its
// collective calls name. Measured profiles take the codecs' rates from it, and their charges are
// checked against it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// A SchemeCase is a scheme in the form in which it is measured.
struct SchemeCase {
  std::string scheme;  // text that MakeScheme takes
  bool error_feedback = true;
  double parameter = 1;
};

// Returns the schemes of the table, each without and with error feedback where the scheme allows
// it. Densities are 1 %, a threshold passes about as much, and other parameters have their
// defaults. RedSync searches its threshold in every step, whatever the size.
std::vector<SchemeCase> MeasuredSchemes();
// Returns the cases of one scheme.
std::vector<SchemeCase> CasesOf(const std::string& scheme);

// A Repetition says how figures are measured: each is the median of `runs`, and each run repeats
// its work for at least `seconds`.
struct Repetition {
  int runs = 9;
  double seconds = 0.02;
};

// A SchemeStep has the times of a step and the work that it names.
struct SchemeStep {
  double encode_seconds = 0;  // seconds of one worker
  // Seconds of one receiver for all messages; for the sum in an all-reduce.
  double decode_seconds = 0;
  WorkList encode, decode;  // work that its calls name
};

// Returns the processor time of steps of each scheme for a square matrix of `numel` elements (a
// power of four), on one thread. Gradients are noise from step to step, with exponential tails. The
// schemes take turns, so that other load of the machine affects all of them.
std::vector<SchemeStep> MeasureSchemes(const std::vector<SchemeCase>& cases, int64_t numel,
                                       int workers, const Repetition& repetition);

// Returns the processor seconds of all threads of the process.
double ProcessorSeconds();

}  // namespace legacy
