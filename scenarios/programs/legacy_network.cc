// legacy-network times collectives, flows, and steps of trainings on a simulated network, without
// training.
#include <cstdio>
#include <iostream>

#include "base/programs/program.h"
#include "scenarios/network/validation/validation.h"
#include "scenarios/programs/network_command_line.h"
#include "scenarios/published/whole_steps.h"
#include "scenarios/replay/training_jobs.h"
#ifdef LEGACY_WITH_NS3
#include "scenarios/network/validation/validation_ns3.h"
#endif

namespace {

int Run(const legacy::NetworkCommand& command) {
  static const legacy::StopFlag never = 0;  // Ctrl-C ends a single experiment at once
  const bool sweeps = !command.sweeps.empty();
  const legacy::TrainingJobs trainings;
  return legacy::RunNetworkCommand(command, sweeps ? legacy::CatchStop() : never, &trainings);
}

int Run(const legacy::TopoCommand& command) { return legacy::RunTopoCommand(command); }

int Run(const legacy::PfcCommand& command) { return legacy::RunPfcCommand(command); }

int Run(const legacy::ValidationOptions& options) {
  return legacy::RunValidation(options, std::cout, std::cerr) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-network", [&] {
#ifdef LEGACY_WITH_NS3
    legacy::UseNs3();
#endif
    legacy::AddValidationSection("whole-steps", legacy::ValidateWholeSteps);
    const legacy::NetworkCommandLine line = legacy::ParseNetworkCommandLine(argc, argv);
    if (line.exit) return *line.exit;
    return std::visit([](const auto& command) { return Run(command); }, line.command);
  });
}
