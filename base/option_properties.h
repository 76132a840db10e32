// Properties of options say who reads an option, and what may change it, so that no other place
// lists options by their names.
#pragma once

#include <cstdint>

namespace legacy {

enum OptionProperty : uint32_t {
  kReadByClients = 1 << 0,      // federated learning reads this option of workers as well
  kReadByPlans = 1 << 1,        // legacy-federated plan, which trains nothing, reads it
  kReadByRuns = 1 << 2,         // federated learning reads it
  kReadByPopulations = 1 << 3,  // legacy-federated population reads it
  kTrainingAlone = 1 << 4,      // a shape, which trains nothing, does not read it
  kOfMethods = 1 << 5,          // it says how to compress, which is settled in a trace
  kMayReplay = 1 << 6,          // a replay may change it, as what is learnt does not depend on it
  kMayFurther = 1 << 7,         // a further network may change it
  kMayResume = 1 << 8,          // a resumed run may change it
  kLeavesResults = 1 << 9,      // no result depends on it
  kStudyIgnores = 1 << 10,      // a study takes it, although its points have no use for it
  kAdvised = 1 << 11,           // a plan hands it on to the advice that it proposes
  kServerAlone = 1 << 12,       // an exchange without a server does not read it
  kRoundsAlone = 1 << 13,       // an asynchronous server does not read it
  kUnrecorded = 1 << 14,        // results have a column of it only where it was given
  kUsual = 1 << 15,             // --help lists it, and --help=all the others as well
  kRepeatable = 1 << 16,        // each time that it is given adds a value to a list
  kOfOneRun = 1 << 17,          // a file of one run; a grid of runs has none
  kOmittedAtDefault = 1 << 18,  // trainings of versions before this option are those at its default
};
// A set of properties, combined by |.
using OptionProperties = uint32_t;

}  // namespace legacy
