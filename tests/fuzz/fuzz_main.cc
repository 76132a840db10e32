// The fuzzer of all families.
//   legacy-fuzz --seeds=DIR: writes DIR/FAMILY/NUMBER, inputs that the targets read to their end
//   legacy-fuzz --family=NAME [OPTIONS] [FILES OR FOLDERS]: libFuzzer on one target; it skips what
//   begins with "--"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {

const legacy::fuzz::Family* family = nullptr;

void WriteSeeds(const std::filesystem::path& root) {
  for (const legacy::fuzz::Family& one : legacy::fuzz::Families()) {
    const std::filesystem::path folder = root / one.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const legacy::Bytes& seed : one.seeds()) {
      std::ofstream file(folder / std::to_string(number++), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()),
                 static_cast<std::streamsize>(seed.size()));
      if (!file.flush()) {
        std::fprintf(stderr, "legacy-fuzz: %s cannot be written\n", folder.c_str());
        std::exit(1);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (const std::string_view argument : std::span(*argv, static_cast<size_t>(*argc))) {
    if (argument.starts_with("--seeds=")) {
      WriteSeeds(argument.substr(8));
      std::exit(0);
    }
    if (!argument.starts_with("--family=")) continue;
    for (const legacy::fuzz::Family& one : legacy::fuzz::Families()) {
      if (argument.substr(9) == one.name) family = &one;
    }
  }
  if (!family) {
    std::fprintf(stderr, "usage: legacy-fuzz --seeds=DIR, or legacy-fuzz --family=NAME ...\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  family->run(std::as_bytes(std::span(data, size)));
  return 0;
}
