// legacy-codec tries codecs on gradients, without a training or a network.
#include <cstdio>

#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "scenarios/programs/codec_command_line.h"

namespace {

int Run(const legacy::CodecOptions& options) { return legacy::RunCodecCommand(options); }
int Run(const legacy::CodecListCommand& command) { return legacy::RunCodecListCommand(command); }
int Run(const legacy::CodecCheckCommand& command) { return legacy::RunCodecCheckCommand(command); }

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-codec", [&] {
    legacy::LoadPlugins(argc, argv);
    const legacy::CodecCommandLine line = legacy::ParseCodecCommandLine(argc, argv);
    if (line.exit) return *line.exit;
    return std::visit([](const auto& command) { return Run(command); }, line.command);
  });
}
