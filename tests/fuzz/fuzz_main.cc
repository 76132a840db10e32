// A libFuzzer program of the target LEGACY_FUZZ_TARGET.
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {
void LEGACY_FUZZ_TARGET(ByteSpan input);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  legacy::fuzz::LEGACY_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
