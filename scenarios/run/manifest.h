// Makes a run directory and its manifest.json, with which every run begins.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/metric.h"
#include "compress/exchange.h"
#include "compress/policy.h"
#include "scenarios/options/scenario.h"

namespace legacy {

class FolderLock;

// Programs whose runs continue with --resume, as manifests name them, and the function of the
// Python module, whose runs continue with legacy.resume.
inline constexpr const char* kWorkersProgram = "legacy-scenario";
inline constexpr const char* kClientsProgram = "legacy-federated";
inline constexpr const char* kPythonProgram = "legacy.run";

// The file of a run directory that says that the run is finished: it is written last.
inline constexpr const char* kFinishedFile = "finished";

// Returns the effective scenario as JSON, by section and key.
nlohmann::json ScenarioDocument(const Scenario& scenario);

// Returns the scenario of such a document. Throws Error naming `where` and the key.
Scenario ReadScenarioDocument(const nlohmann::json& document, const std::string& where);

// Returns the part of the document that shapes the training and not its timing, which a replay must
// not change.
nlohmann::json TrainingDocument(const Scenario& scenario);

// Returns the reasons why the training would differ on another network. Empty: it would be the
// same, so that its record can be replayed.
std::vector<std::string> ReplayRefusals(const Scenario& scenario);

// Returns the manifest. `metrics` are what evaluations measure, `parameters` is the model's number
// of elements, and `replay_refused` has all reasons against a replay. Throws Error where the
// metrics lack that of the scenario's target.
nlohmann::json ManifestDocument(const Scenario& scenario, const std::string& program,
                                const std::string& command_line, std::span<const Metric> metrics,
                                int64_t parameters, const std::vector<std::string>& replay_refused);

// True where a run is of federated clients, as `configuration` in its manifest says, and not of
// workers. It is asked before any other file of the run is read.
bool IsFederated(const nlohmann::json& manifest);

// Returns the scenario of the run in a folder, as it was asked for. Throws Error where no run is
// there, or it cannot be read.
Scenario ScenarioOfRun(const std::string& directory);

// Returns the scenario of the unfinished run in a folder that `program` began, to continue with.
// Throws Error where no run of that program is there.
Scenario ResumeDefaults(const std::string& directory, const std::string& program);

// Returns the note of an interrupted run in a folder, with the command that continues it, or
// starts it again where it has no checkpoint yet.
std::string InterruptionNote(const std::string& program, const std::filesystem::path& directory,
                             bool has_checkpoint);

// Checks that `scenario` continues the run that the manifest describes: results do not depend on
// the other options, and the number of steps may grow. Throws Error naming the first option that
// differs.
void CheckResume(const Scenario& scenario, const nlohmann::json& manifest);

// Checks that what computes is what began the run: versions of the program and of its libraries,
// the kernels that these chose, and the processor unless its kernels are portable, as the manifest
// that this program would write has them. Throws Error naming the first that differs.
void CheckVersions(const Scenario& scenario, const nlohmann::json& now,
                   const nlohmann::json& begun);

// Returns the lines that processes which train together need to have alike: the scenario, without
// what a resumed run may change, and the version of the program.
std::string SharedText(const Scenario& scenario);

// Reads the manifest of a run that `program` began, to continue with. Throws Error where no such
// run is there.
nlohmann::json ReadResumed(const std::filesystem::path& directory, const std::string& program);

// A folder may hold what another command made.
enum class Held { kRun, kStudy };
// Throws Error naming `option` where the folder holds one: files of two commands would mix.
void CheckHoldsNo(Held held, const std::filesystem::path& folder, const std::string& option);

// Throws Error naming --out where scenario.out has a run already, unless overwrite is on, or is not
// a folder. Runs call it before they read data.
void CheckOut(const Scenario& scenario);

// Creates scenario.out, or runs/<program>-<time>, with a number at the end where that is taken, and
// returns it. Throws Error as CheckOut does.
std::filesystem::path MakeRunDirectory(const Scenario& scenario, const std::string& program);

}  // namespace legacy
