// Properties of every scheme: hostile bytes, states, active workers.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::every_scheme_test {
namespace {

constexpr int kWorkers = 3;
constexpr int64_t kRows = 12;
constexpr int64_t kNumel = kRows * 20;

struct Case {
  const char* text;
  std::vector<double> parameters;  // parameters of successive steps
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {{"dense", {1}},
                                          {"topk", {0.1, 0.02, 1}},
                                          {"topk:index=delta", {0.1, 0.02}},
                                          {"topk:memory=momentum,nesterov=on", {0.1, 1, 0.02}},
                                          {"threshold", {0.5, 2}},
                                          {"redsync:memory=momentum", {0.1, 0.02}},
                                          {"sidco", {0.1, 0.02}},
                                          {"dgc", {0.1, 1, 0.02}},
                                          {"dgc+bf16", {0.1, 0.02}},
                                          {"topk:min_numel=1000,memory=momentum", {0.1}},
                                          {"ar-topk", {0.1, 1, 0.02}},
                                          {"ar-topk:root=variance", {0.1, 0.02}},
                                          {"flexible-topk", {0.1, 0.02}},
                                          {"flexible-topk:mode=gather", {0.1, 0.02}},
                                          {"powersgd", {2, 1, 6}},
                                          {"powersgd:min_rate=0", {2, 4, 1, 64}},
                                          {"powersgd:min_rate=0,warm_start=off", {2, 4}},
                                          {"qsgd:norm=max", {8, 4}},
                                          {"maxmin:reduction=requantise,bucket=64", {8, 4}},
                                          {"bf16:reduction=hop", {1}},
                                          {"mx:format=e2m1,reduction=ring", {1}},
                                          {"maxmin:reduction=butterfly,bucket=64", {8, 4}},
                                          {"dynamiq", {5, 8}},
                                          {"topk:where=after-mean", {0.1, 0.02}},
                                          {"qsgd:where=after-mean,again=gather", {8, 4}},
                                          {"topk:where=after-mean,again=dense", {0.1, 0.02}},
                                          {"topk:where=server", {0.1, 0.02}},
                                          {"topk:where=both", {0.1, 0.02}},
                                          {"topk:where=server,servers=3", {0.1, 0.02}},
                                          {"topk:where=both,servers=3+bf16", {0.1, 0.02}},
                                          {"topk:owners=3", {0.1, 0.02, 1}},
                                          {"topk:owners=3,memory=momentum,min_numel=81", {0.1}},
                                          {"threshold:owners=3,cut=values", {0.5, 2}},
                                          {"dgc:owners=3", {0.1, 1, 0.02}},
                                          {"topk:owners=3,select=unit", {0.1, 0.02, 1}},
                                          {"randomk:owners=3,select=unit", {0.1, 0.02}},
                                          {"topk:storage=int8", {0.1, 0.02, 1}},
                                          {"topk:memory=loco,storage=bf16", {0.1, 0.02}},
                                          {"topk:decay=0.5", {0.1, 0.02}},
                                          {"ar-topk:decay=0.5", {0.1, 0.02}},
                                          {"topk:memory=ef21", {0.1, 0.02, 1}},
                                          {"topk:memory=ef21m,eta=0.3+bf16", {0.1, 0.02}},
                                          {"threshold:memory=ef21m", {0.5, 2}},
                                          {"topk:memory=ef21m,min_numel=1000", {0.1}},
                                          {"powersgd:min_rate=0,decay=0.5", {2, 4}},
                                          {"arc", {0.2, 1, 0.5}},
                                          {"arc:rank=2,decay=0.5", {0.2, 0.5}},
                                          {"arc:memory=ef21m", {0.2, 1, 0.5}},
                                          {"oktopk", {0.1, 0.02, 1}},
                                          {"oktopk:thresholds=2,regions=3,decay=0.5", {0.1, 0.02}},
                                          {"blocks:block=16", {0.1, 1, 0.4}},
                                          {"omnireduce:block=16", {1, 0.1, 1, 0.4}},
                                          {"onebit-adam:warmup=1", {1}},
                                          {"eden", {1, 4, 2}},
                                          {"eden:rotation=own", {1, 4, 2}},
                                          {"eden:where=after-mean", {1, 4, 2}},
                                          {"dct:chunk=8", {0.1, 1, 0.02}},
                                          {"demo:k=3,sign=off", {1}},
                                          {"demo:k=3", {1}},
                                          {"thc:block=64", {1}},
                                          {"thc:sums=server", {1}},
                                          {"signsgd", {1}},
                                          {"signsgd:momentum=0.9", {1}},
                                          {"natural:form=dithering,bucket=64", {1}},
                                          {"terngrad-shared", {1}},
                                          {"variance", {0.5, 2, 3}},
                                          {"variance:reset=off,index=delta+fp16", {0.5, 1.5}}};
  return cases;
}

bool SumsByHops(const Case& one) {
  const std::string_view text = one.text;
  return text.starts_with("dynamiq") || text.find("reduction=ring") != text.npos ||
         text.find("reduction=butterfly") != text.npos;
}

std::unique_ptr<Exchange> Open(const Case& one, int workers = kWorkers) {
  Unit unit = test::MakeUnit(kNumel, 1);
  unit.shape = {kRows, kNumel / kRows};
  return MakeScheme(one.text)->Open(unit, workers);
}

bool CompressesMean(const Case& one) { return MakeScheme(one.text)->Traits().compresses_mean; }

std::vector<std::vector<float>> Gradients(int64_t step) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) gradients.push_back(test::Normals(kNumel, 9 * step + w));
  return gradients;
}

UnitStep StepOf(const Case& one, int64_t step) {
  return {.info = {.seed = 4, .step = step},
          .parameter = one.parameters[step % one.parameters.size()]};
}

TEST(EveryExchange, ResumesToTheSameBits) {
  for (const Case& one : Cases()) {
    const auto straight = Open(one), resumed = Open(one);
    for (int64_t step = 0; step < 7; ++step) {
      if (step == 4) straight->RescaleResiduals(0.5f);
      test::RunStep(*straight, StepOf(one, step), Gradients(step));
    }
    const Bytes state = straight->Save();
    resumed->Load(state);
    EXPECT_EQ(resumed->Save(), state) << one.text;
    for (int64_t step = 7; step < 12; ++step) {
      ASSERT_EQ(test::RunStep(*straight, StepOf(one, step), Gradients(step)),
                test::RunStep(*resumed, StepOf(one, step), Gradients(step)))
          << one.text;
    }
    EXPECT_EQ(resumed->Save(), straight->Save()) << one.text;
  }
}

std::vector<std::tuple<std::string, int64_t, int64_t>> Listed(const WorkList& works) {
  std::vector<std::tuple<std::string, int64_t, int64_t>> list;
  for (const Work& work : works) list.emplace_back(work.kernel, work.elements, work.launches);
  return list;
}

// The exchange asks for the collective calls that its scheme plans, and each message has the
// planned length.
TEST(EveryExchange, SendsWhatItsSchemePlans) {
  Unit unit = test::MakeUnit(kNumel, 1);
  unit.shape = {kRows, kNumel / kRows};
  int planned = 0;
  for (const Case& one : Cases()) {
    const auto scheme = MakeScheme(one.text);
    const auto exchange = Open(one);
    for (int64_t step = 0; step < 3; ++step) {
      const UnitStep context = StepOf(one, step);
      const auto plan = scheme->Plan(unit, context.parameter, kWorkers);
      if (!plan) continue;
      ++planned;
      exchange->Begin(context);
      const auto gradients = Gradients(step);
      int64_t bytes = 0;
      for (size_t r = 0; r < plan->size(); ++r) {
        const PlannedCall& expected = plan->at(r);
        const std::optional<CollectiveCall> call = exchange->NextCall();
        ASSERT_TRUE(call) << one.text;
        EXPECT_EQ(call->collective, expected.call.collective) << one.text;
        EXPECT_EQ(call->reduction, expected.call.reduction) << one.text;
        EXPECT_EQ(Listed(call->encode), Listed(expected.call.encode)) << one.text;
        EXPECT_EQ(Listed(call->decode), Listed(expected.call.decode)) << one.text;
        for (int w = 0; w < kWorkers; ++w) {
          const Message message = exchange->Encode(
              w, r == 0 ? std::span<const float>(gradients[w]) : std::span<const float>());
          EXPECT_EQ(message.size(), expected.bytes) << one.text;
          exchange->Accumulate(w, message.bytes);
        }
        exchange->FinishCall();
        bytes += expected.bytes;
      }
      EXPECT_FALSE(exchange->NextCall()) << one.text;
      EXPECT_EQ(bytes, scheme->MessageBytes(unit, context.parameter)) << one.text;
    }
  }
  EXPECT_GT(planned, 20);
}

// The exchange asks for the calls that its scheme, for schemes with a density, tells a policy to
// expect. Lengths and work that depend on the data are not compared.
TEST(EveryExchange, AsksForTheCallsToExpect) {
  const Unit unit = test::MakeUnit(kNumel, 1);
  const LinkEstimate slow_start = {.latency_seconds = 0.1, .seconds_per_byte = 1e-9};
  const LinkEstimate thin = {.latency_seconds = 1e-9, .seconds_per_byte = 1e-3};
  for (const char* text : {"topk", "topk:index=u16", "topk:index=delta", "ar-topk", "sidco",
                           "ar-topk:root=variance,index=u32", "flexible-topk", "topk:dense_start=1",
                           "flexible-topk:mode=gather", "randomk", "topk:memory=ef21",
                           "sidco:memory=ef21m", "topk:owners=3", "sidco:owners=3",
                           "topk:owners=3,min_numel=81", "topk:owners=3,select=unit"}) {
    const auto scheme = MakeScheme(text);
    const bool exact = scheme->MessageBytes(unit, 0.02) || scheme->Traits().reads_network;
    for (const LinkEstimate& link : {slow_start, thin}) {
      const auto expected = scheme->ExpectedCalls(unit, 0.02, kWorkers, link);
      ASSERT_TRUE(expected) << text;
      const auto exchange = scheme->Open(unit, kWorkers);
      exchange->Begin({.info = {.seed = 4, .step = kWorkers, .link = link}, .parameter = 0.02});
      const auto gradients = Gradients(0);
      for (size_t r = 0; r < expected->size(); ++r) {
        const PlannedCall& planned = expected->at(r);
        const std::optional<CollectiveCall> call = exchange->NextCall();
        ASSERT_TRUE(call) << text;
        EXPECT_EQ(call->collective, planned.call.collective) << text;
        EXPECT_EQ(call->reduction, planned.call.reduction) << text;
        if (exact) {
          EXPECT_EQ(Listed(call->encode), Listed(planned.call.encode)) << text;
          EXPECT_EQ(Listed(call->decode), Listed(planned.call.decode)) << text;
        }
        for (int w = 0; w < kWorkers; ++w) {
          const Message message = exchange->Encode(
              w, r == 0 ? std::span<const float>(gradients[w]) : std::span<const float>());
          const bool sends = call->collective != Collective::kBroadcast || w == call->root;
          if (exact) {
            EXPECT_EQ(message.size(), sends ? planned.bytes : 0) << text;
          }
          exchange->Accumulate(w, message.bytes);
        }
        exchange->FinishCall();
      }
      EXPECT_FALSE(exchange->NextCall()) << text;
    }
  }
}

TEST(EveryExchange, RefusesStatesThatAreNotItsOwn) {
  for (const Case& one : Cases()) {
    const auto exchange = Open(one);
    test::RunStep(*exchange, StepOf(one, 0), Gradients(0));
    const Bytes state = exchange->Save();
    for (size_t length = 0; length < state.size(); length += 1 + length / 50) {
      EXPECT_THROW(exchange->Load(ByteSpan(state).first(length)), Error) << one.text;
    }
    Bytes longer = state;
    longer.push_back({});
    EXPECT_THROW(exchange->Load(longer), Error) << one.text;
    EXPECT_THROW(Open(one, 2)->Load(state), Error) << one.text;
    EXPECT_EQ(exchange->Save(), state) << one.text;
  }
}

TEST(EveryExchange, TheMeanIsOverActiveWorkersAndOthersKeepTheirState) {
  for (const Case& one : Cases()) {
    if (std::string_view(one.text).find("owners") != std::string_view::npos) continue;
    const auto three = Open(one), alone = Open(one, 1);
    UnitStep step = StepOf(one, 0);
    step.info.active_workers = {1};
    const auto gradients = Gradients(1);
    const auto mean = test::RunStep(*three, step, gradients);
    for (const int other : {0, 2}) {
      if (CompressesMean(one)) break;  // all have one residual
      EXPECT_EQ(test::ResidualSquared(*three, other), 0) << one.text;
    }
    if (std::string_view(one.text) == "terngrad-shared" ||
        std::string_view(one.text).starts_with("thc") ||
        std::string_view(one.text).starts_with("natural") ||
        std::string_view(one.text).starts_with("qsgd") ||
        std::string_view(one.text).starts_with("dynamiq") ||
        std::string_view(one.text).ends_with("rotation=own")) {
      continue;  // each worker has its own draws
    }
    // Workers that are left out pass sums on, and encode them again.
    if (std::string_view(one.text).find("butterfly") != std::string_view::npos) continue;
    if (std::string_view(one.text).starts_with("dgc")) continue;  // so is the sample
    step.info.active_workers.clear();
    EXPECT_EQ(mean, test::RunStep(*alone, step, {gradients[1]})) << one.text;
    EXPECT_EQ(test::ResidualSquared(*three, 1), test::ResidualSquared(*alone, 0)) << one.text;
  }
}

// Takes one step of three workers, with one byte of one message changed, or the message cut.
// Returns the mean; nothing if the message was refused.
std::optional<std::vector<float>> Tampered(const Case& one, size_t message, size_t byte,
                                           std::byte change, bool cut, size_t* length = nullptr) {
  const auto exchange = Open(one);
  const auto gradients = Gradients(3);
  try {
    exchange->Begin(StepOf(one, 0));
    size_t index = 0;
    for (bool first = true; exchange->NextCall(); first = false) {
      std::vector<Message> sent;
      for (int w = 0; w < kWorkers; ++w) {
        sent.push_back(exchange->Encode(w, first ? gradients[w] : std::span<const float>()));
      }
      for (int w = 0; w < kWorkers; ++w, ++index) {
        Bytes& bytes = sent[w].bytes;
        if (index == message) {
          if (length != nullptr) *length = bytes.size();
          if (byte < bytes.size()) bytes[byte] ^= change;
          if (cut && byte < bytes.size()) bytes.resize(byte);
        }
        exchange->Accumulate(w, bytes);
      }
      exchange->FinishCall();
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  std::vector<float> mean(kNumel);
  exchange->Mean(mean);
  return mean;
}

// With any byte of any collective call changed, and any state of the exchange from earlier calls,
// the message is refused or the mean is finite. codec_scheme_test.cc checks that the mean differs,
// where one worker's rounding does not hide the difference.
TEST(EveryExchange, SurvivesHostileBytesInEveryCall) {
  for (const Case& one : Cases()) {
    const auto honest = *Tampered(one, 1000, 0, {}, false);
    int accepted = 0, changed = 0;
    for (size_t message = 0; message < 3 * kWorkers; message += 2) {
      size_t length = 0;
      Tampered(one, message, ~size_t{0}, {}, false, &length);
      for (size_t byte = 0; byte < length; byte += 1 + byte / 40) {
        EXPECT_FALSE(Tampered(one, message, byte, {}, true)) << one.text << " cut to " << byte;
        for (const std::byte change : {std::byte{1}, std::byte{0x80}, std::byte{0xFF}}) {
          const auto mean = Tampered(one, message, byte, change, false);
          if (!mean) continue;
          ++accepted;
          changed += *mean != honest;
          for (const float x : *mean) ASSERT_TRUE(std::isfinite(x)) << one.text;
        }
      }
    }
    EXPECT_GT(accepted, 0) << one.text;
    // Of the mean, most values are not selected; of sums by hops, a part of some messages travels.
    EXPECT_GT(changed, accepted / (SumsByHops(one) ? 20 : CompressesMean(one) ? 8 : 4)) << one.text;
  }
}

}  // namespace
}  // namespace legacy::every_scheme_test