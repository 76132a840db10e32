// legacy-fuzz-seeds DIR: writes DIR/FAMILY/NUMBER, inputs that the targets read to their end, made by the codecs themselves.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: legacy-fuzz-seeds DIR\n");
    return 2;
  }
  for (const legacy::fuzz::Family& family : legacy::fuzz::Families()) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / family.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const legacy::Bytes& seed : family.seeds()) {
      std::ofstream file(folder / std::to_string(number++), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()),
                 static_cast<std::streamsize>(seed.size()));
      if (!file.flush()) {
        std::fprintf(stderr, "legacy-fuzz-seeds: %s cannot be written\n", folder.c_str());
        return 1;
      }
    }
  }
}
