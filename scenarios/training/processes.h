// A comparison that several processes share: process 0 runs it as one process would, and the others
// follow. Each step, evaluation, save and load of a training begins with a command of process 0.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/training/step_sources.h"
#include "scenarios/training/training_request.h"
#include "trainer/processes/launch.h"
#include "trainer/processes/process_group.h"
#include "trainer/step_source.h"

namespace legacy {

// Connects the devices of all processes (StepSources::Connect); `sources` are process 0's.
void LeadConnect(StepSources& sources, ProcessGroup& processes);

// Has the training made in all processes; `make` makes process 0's part of it. What is done with
// the result is done in all of them.
std::unique_ptr<StepSource> Lead(const TrainingRequest& request,
                                 const std::function<std::unique_ptr<StepSource>()>& make,
                                 ProcessGroup& processes);

// Returns how this process was started as one of several, by a launcher or now by a fork
// (run.processes); nothing: it is alone. Throws Error on scenarios that this number of processes
// cannot run.
std::optional<Launch> LaunchOf(const Scenario& scenario);

// Joins the processes, which need the same text `same`, and lets process 0 run, `run`, while the
// others follow. Throws the first Error of any process in process 0. The others exit with status 1
// then, without a word unless process 0 cannot say it.
void RunTogether(const Launch& launch, const Scenario& scenario, const std::string& same,
                 const StopFlag& stop, const std::function<void(ProcessGroup&)>& run);

}  // namespace legacy
