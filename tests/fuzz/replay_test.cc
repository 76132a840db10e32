// Runs the fuzz targets without a fuzzer, on every seed and on seeds that were changed at random. A
// fuzzer finds more; this test runs in every build.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz::replay_test {
namespace {

Bytes Mutated(Bytes seed, RandomStream& stream) {
  for (uint32_t flips = stream.Below(5); flips > 0 && !seed.empty(); --flips) {
    seed[stream.Below(static_cast<uint32_t>(seed.size()))] =
        static_cast<std::byte>(stream.Below(256));
  }
  if (stream.Below(4) == 0) seed.resize(stream.Below(static_cast<uint32_t>(seed.size()) + 8));
  return seed;
}

TEST(FuzzTargets, SurviveTheirSeedsAndMutationsOfThem) {
  RandomStream stream({.seed = 80});
  for (const Family& family : Families()) {
    const std::vector<Bytes> seeds = family.seeds();
    ASSERT_GE(seeds.size(), 10u) << family.name;
    for (const Bytes& seed : seeds) family.run(seed);
    for (uint32_t i = 0; i < family.mutations; ++i) {
      const auto pick = stream.Below(static_cast<uint32_t>(seeds.size()));
      family.run(Mutated(seeds[pick], stream));
    }
  }
}

TEST(FuzzTargets, TamperingReachesEveryKind) {
  const Bytes message(20, std::byte{7});
  std::vector<Bytes> outcomes;
  for (uint32_t kind = 0; kind < 6; ++kind) {
    const Bytes choice = Output()
                             .Put(kind, 1)
                             .Put(0x0503, 2)
                             .Put(9, 1)
                             .Put(0x0704, 2)
                             .Put(8, 1)
                             .Put(Bytes(4))
                             .Take();
    Input input(choice);
    outcomes.push_back(Tampered(message, input));
  }
  EXPECT_EQ(outcomes[0], message);
  for (size_t kind = 1; kind < outcomes.size(); ++kind) EXPECT_NE(outcomes[kind], message) << kind;
}

}  // namespace
}  // namespace legacy::fuzz::replay_test