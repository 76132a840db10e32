// The doctor of a federated run says what its rounds wait for, and, where the run was recorded,
// what remedies would save: by simulating the recorded works anew.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/table_text.h"
#include "base/programs/program.h"

namespace legacy {

// A FederatedDiagnosis is what the doctor finds of one policy, with the run's first seed.
struct FederatedDiagnosis {
  std::string policy;
  std::string waits = {};                        // sentences: what its rounds wait for
  std::optional<analysis::Table> remedies = {};  // nothing: without a record, or before its end
  std::string verdict = {};                      // the remedy that saves most; "": no remedies
};

struct FederatedDiagnoses {
  uint64_t seed = 0;
  std::string remark;  // why there are no remedies; "": there are
  std::vector<FederatedDiagnosis> policies;
  bool interrupted = false;
};

// Reads a run directory of legacy-federated and diagnoses it. Remedies are simulated over up to 100
// rounds each; none of them changes who takes part. `progress` hears of each simulation. Throws
// Error on a directory that is no such run.
FederatedDiagnoses DiagnoseFederated(const std::string& directory, bool remedies,
                                     const std::function<void(const std::string&)>& progress,
                                     const StopFlag& stop);

}  // namespace legacy
