#include "tests/fuzz/targets.h"

namespace legacy::fuzz {

// Each is defined next to its target.
std::vector<Bytes> MessageSeeds();
std::vector<Bytes> CodecSeeds();
std::vector<Bytes> SchemeSeeds();
std::vector<Bytes> PolicySeeds();
std::vector<Bytes> OptionsSeeds();

// Families of readers of files and requests, defined where those readers are built.
const std::vector<Family>& ReaderFamilies();

std::span<const Family> Families() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all = {{"message", FuzzMessage, MessageSeeds},
                               {"codec", FuzzCodec, CodecSeeds},
                               {"scheme", FuzzScheme, SchemeSeeds},
                               {"policy", FuzzPolicy, PolicySeeds},
                               {"options", FuzzOptions, OptionsSeeds}};
#ifdef LEGACY_FUZZ_READERS
    all.insert(all.end(), ReaderFamilies().begin(), ReaderFamilies().end());
#endif
    return all;
  }();
  return families;
}

}  // namespace legacy::fuzz
