// legacy-federated plans federated learning over wide-area networks.
#include "base/program.h"
#include "scenarios/programs/federated_command_line.h"

namespace {

int Run(const legacy::PlanCommand& command) {
  return legacy::RunPlanCommand(command, legacy::CatchStop());
}

int Run(const legacy::PopulationCommand& command) { return legacy::RunPopulationCommand(command); }

}  // namespace

int main(int argc, char** argv) {
  return legacy::ProgramStatus("legacy-federated", [&] {
    const legacy::FederatedCommandLine line = legacy::ParseFederatedCommandLine(argc, argv);
    if (line.exit) return *line.exit;
    return std::visit([](const auto& command) { return Run(command); }, line.command);
  });
}
