// The doctor of a federated run says what its rounds wait for, and, where the run was recorded,
// what remedies would save: it simulates the recorded works again with each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/programs/program.h"
#include "scenarios/network/doctor.h"

namespace legacy {

// A RunDiagnosis is what the doctor finds with the run's first seed.
struct RunDiagnosis {
  uint64_t seed = 0;
  std::string remark = {};  // why there are no remedies; "": there are
  // Each policy has one. It has no remedies where there is no record, or the record has no end.
  std::vector<std::pair<std::string, Diagnosis>> policies = {};
  bool interrupted = false;
};

// Reads a run directory of legacy-federated and diagnoses it. Remedies are simulated over up to 100
// rounds each; none of them changes who takes part. `progress` is told of each simulation. Throws
// Error on a directory that is not such a run.
RunDiagnosis DiagnoseFederated(const std::string& directory, bool remedies,
                               const std::function<void(const std::string&)>& progress,
                               const StopFlag& stop);

}  // namespace legacy
