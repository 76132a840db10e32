// legacy-replay times a recorded training, or the user's own trace, on another network.
#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "scenarios/programs/replay_command.h"

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-replay", [&] {
    legacy::LoadPlugins(argc, argv);
    return legacy::ReplayCommand(argc, argv, false);
  });
}
