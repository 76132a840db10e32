// Kernel rates are the speeds of the kernels that schemes and policies name (Work::kernel), on one
// thread of this processor, in processor time. They are the codecs' part of a measured profile.
//
// A kernel's time is that of steps of an exchange (scheme_speed.h) less the other kernels that they
// name. Schemes are solved one after the other, always those with one kernel without a rate. The
// charges of those steps therefore equal their times, and --check says how far charges and times
// differ for all other steps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/calibration/lone_kernels.h"
#include "trainer/calibration/scheme_speed.h"
#include "trainer/clock/profile.h"

namespace legacy {

// Returns the median seconds of a call.
double MedianSeconds(const std::function<void()>& call, const Repetition& repetition);

// A MeasuredPart is a part of a scheme's step, measured for units of two sizes: the work that it
// names, and its time.
struct MeasuredPart {
  WorkList small, large;
  double small_seconds = 0, large_seconds = 0;
};

// Adds to `profile` the kernels that `parts` name. A kernel that is the only one without a rate in
// some parts gets the rate at which these parts, together, are charged the time that their other
// kernels leave. This is repeated until there are no such parts. Throws Error naming a kernel
// without a rate then.
void SolveKernels(const std::vector<MeasuredPart>& parts, Profile& profile);

// Adds the rates of all kernels to `profile`. Throws Error naming a kernel of a scheme whose rate
// does not follow from the schemes. `profile` charges by unit and message (Launches::kPerLayer), as
// exchanges on the processor work.
void MeasureKernels(const KernelSizes& sizes, const Repetition& repetition, Profile& profile);

// A CheckedScheme has a profile's charges for a scheme's step and the step's times, for four
// workers.
struct CheckedScheme {
  SchemeCase scheme;
  double encode_charged = 0, encode_seconds = 0;
  double decode_charged = 0, decode_seconds = 0;
};
// Returns the charges and times of all measured schemes.
std::vector<CheckedScheme> CheckSchemes(const Profile& profile, int64_t numel,
                                        const Repetition& repetition);

}  // namespace legacy
