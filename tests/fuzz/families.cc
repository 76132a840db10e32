#include "tests/fuzz/targets.h"

namespace legacy::fuzz {

// Each beside its target.
std::vector<Bytes> MessageSeeds();
std::vector<Bytes> CodecSeeds();
std::vector<Bytes> SchemeSeeds();
std::vector<Bytes> PolicySeeds();
std::vector<Bytes> OptionsSeeds();

std::span<const Family> Families() {
  static const std::vector<Family> families = {{"message", FuzzMessage, MessageSeeds},
                                               {"codec", FuzzCodec, CodecSeeds},
                                               {"scheme", FuzzScheme, SchemeSeeds},
                                               {"policy", FuzzPolicy, PolicySeeds},
                                               {"options", FuzzOptions, OptionsSeeds}};
  return families;
}

}  // namespace legacy::fuzz
