// legacy-network: times collectives and flows on a simulated network, without training.
#include <csignal>
#include <cstdio>
#include <iostream>

#include "base/program.h"
#include "scenarios/programs/network_command_line.h"

namespace {

volatile std::sig_atomic_t g_stop = 0;  // set by the handler of SIGINT and SIGTERM alone

// The second signal ends at once.
extern "C" void Stop(int signal) {
  g_stop = 1;
  std::signal(signal, SIG_DFL);
}

int Run(const legacy::NetworkCommand& command) {
  if (!command.sweeps.empty()) {
    std::signal(SIGINT, Stop);
    std::signal(SIGTERM, Stop);
  }
  return legacy::RunNetworkCommand(command, g_stop);
}

int Run(const legacy::TopoCommand& command) { return legacy::RunTopoCommand(command); }

int Run(const legacy::ValidationOptions& options) {
  return legacy::RunValidation(options, std::cout) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return legacy::ProgramStatus("legacy-network", [&] {
    const legacy::NetworkCommandLine line = legacy::ParseNetworkCommandLine(argc, argv);
    if (line.exit) return *line.exit;
    return std::visit([](const auto& command) { return Run(command); }, line.command);
  });
}
