// legacy-trace times execution traces on simulated networks, and writes those of recorded steps.
#include "base/programs/program.h"
#include "scenarios/programs/trace_command.h"

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-trace", [&] { return legacy::TraceCommand(argc, argv); });
}
