// Clients are charged the work of everything that they run: each message that they decode, each
// local step, and their update.
#include "scenarios/federated/client_clock.h"

#include <gtest/gtest.h>

#include "scenarios/federated/plan_request.h"
#include "tests/scenarios/federated/plan_testing.h"
#include "trainer/clock/profile.h"
#include "trainer/federated/downlink.h"

namespace legacy::client_clock_test {
namespace {

const WorkList kNothing;

class ClientClocks : public testing::Test {
 protected:
  ClientClocks()
      : path_(
            Write("clocks.yaml", "clients:\n- {count: 1}\n- {count: 1, device: {slowdown: 3}}\n")),
        request_(Request({{"population", path_}, {"elements", "30"}, {"per-round", "1"}})),
        layers_{{0, "weight", {20, 40}, 0, 800}, {1, "bias", {20}, 800, 20}},
        clock_(scenario_, request_.population, {{"linear", 60, 8, 40, {0, 1}}}, layers_,
               {{"optimizer.sgd"}, {}}),
        profile_(LoadProfile(scenario_.device_profile)) {
    if (*scenario_.launches) profile_.launches = **scenario_.launches;
  }

  double SecondsOf(const WorkList& work) const {
    double seconds = 0;
    for (const Work& entry : work) seconds += profile_.WorkSeconds(entry);
    return seconds;
  }

  Scenario scenario_ = FederatedDefaults();
  std::string path_;
  PlanRequest request_;
  std::vector<Unit> layers_;
  ClientClock clock_;
  Profile profile_;
};

TEST_F(ClientClocks, ChargeEachMessageThatClientsDecode) {
  for (const char* text : {"fp16", "delta:topk@10%", "delta:qsgd@4"}) {
    const Downlink downlink(text, layers_, 1);
    const WorkList decode = downlink.DecodeWork();
    const double one = SecondsOf(decode);
    ASSERT_GT(one, 0) << text;
    for (const int64_t messages : {0, 1, 7}) {
      for (const int64_t client : {0, 1}) {
        const ClientSeconds seconds = clock_.SecondsOf(client, {.samples = 10,
                                                                .batch = 4,
                                                                .steps = 3,
                                                                .decode = decode,
                                                                .messages = messages,
                                                                .encode = kNothing});
        const double slowdown = client == 0 ? 1 : 3;
        EXPECT_DOUBLE_EQ(seconds.decode, slowdown * static_cast<double>(messages) * one) << text;
        EXPECT_EQ(seconds.encode, 0);
        EXPECT_GT(seconds.local, 0);
        EXPECT_EQ(seconds.Total(), RoundedTime((seconds.decode + seconds.local) * 1e9));
      }
    }
  }
}

TEST_F(ClientClocks, CountWholeAndShortBatches) {
  const LocalBatches batches = BatchesOf(10, 4, 7);  // 4, 4, 2; 4, 4, 2; 4
  EXPECT_EQ(batches.size, 4);
  EXPECT_EQ(batches.whole, 5);
  EXPECT_EQ(batches.rest, 2);
  EXPECT_EQ(batches.shorts, 2);
  const auto local = [&](int64_t samples, int64_t steps) {
    return clock_
        .SecondsOf(0, {.samples = samples,
                       .batch = 4,
                       .steps = steps,
                       .decode = kNothing,
                       .encode = kNothing})
        .local;
  };
  EXPECT_NEAR(local(10, 7), local(8, 5) + local(2, 2), 1e-15);
  EXPECT_EQ(local(0, 0), 0);
}

}  // namespace
}  // namespace legacy::client_clock_test
