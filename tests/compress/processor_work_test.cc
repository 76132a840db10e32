// Compares the work that is charged (Work) with the bytes that the code moves on a processor
// (counted_memory.h), for encoding without kernels, for error tables and for policies.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compress/codecs/quantiser_codec.h"
#include "compress/cpu/vector.h"
#include "compress/exchange.h"
#include "compress/kernel_costs.h"
#include "compress/policy.h"
#include "compress/schemes/hops/quantised_hops.h"
#include "tests/compress/counted_memory.h"
#include "tests/compress/test_data.h"

namespace legacy::processor_work_test {
namespace {

constexpr int64_t kNumel = int64_t{1} << 20;
constexpr double kTolerance = 0.1;

// Uses plain loops, as functions of vector instructions are not counted.
const int kPlain = setenv("LEGACY_SIMD", "plain", 1);

// `beside` is the number of bytes per element that this code moves and a kernel would not, `why`
// the reason.
struct Case {
  const char* scheme;
  bool feedback;
  double beside;
  const char* why;
};

double BytesOf(const WorkList& work) {
  double bytes = 0;
  for (const Work& entry : work) {
    if (entry.kernel.empty()) continue;  // free
    bytes += static_cast<double>(entry.elements) * CostOf(entry.kernel).bytes;
  }
  return bytes / static_cast<double>(kNumel);
}

Unit Matrix() {
  return {.id = 0, .name = "u", .shape = {1024, 1024}, .offset = 0, .numel = kNumel};
}

// Draws the gradient of a step while a CountedProcessor exists, so that reading it is counted.
const std::vector<float>& Gradient(int64_t step) {
  static std::map<int64_t, std::vector<float>> gradients;
  std::vector<float>& gradient = gradients[step];
  if (gradient.empty()) gradient = test::Normals(kNumel, 5 + step);
  return gradient;
}

void ExpectCharged(const char* what, const Case& one, int64_t counted, double charged) {
  const double bytes = static_cast<double>(counted) / static_cast<double>(kNumel) - one.beside;
  std::printf("%-44s %-3s %-6s %9.2f %9.2f %9.2f %+7.1f %%\n", one.scheme,
              one.feedback ? "on" : "off", what, bytes + one.beside, one.beside, charged,
              100 * (charged / bytes - 1));
  EXPECT_NEAR(charged / bytes, 1, kTolerance) << one.scheme << ": " << one.why;
}

// Checks the encoding of the only worker in the third step of a training.
void ExpectEncoding(const Case& one) {
  const auto scheme = MakeScheme(one.scheme, {.error_feedback = one.feedback});
  const test::CountedProcessor processor;
  const Unit unit = Matrix();
  const auto exchange = scheme->Open(unit, 1);
  int64_t counted = 0;
  double charged = 0;
  for (int64_t step = 0; step < 3; ++step) {
    const std::vector<float>& gradient = Gradient(step);
    exchange->Begin({.info = {.seed = 1, .step = step}, .parameter = scheme->Parameter().fallback});
    counted = 0;
    charged = 0;
    for (bool first = true; const auto call = exchange->NextCall(); first = false) {
      test::CountedMemory::Take();
      const Message message =
          exchange->Encode(0, first ? std::span<const float>(gradient) : std::span<const float>());
      counted += test::CountedMemory::Take();
      charged += BytesOf(call->encode);
      exchange->Accumulate(0, message.bytes);
      exchange->FinishCall();
    }
  }
  ExpectCharged("encode", one, counted, charged);
}

// Bytes per element of the tables of a histogram, which take 0.8 MB.
constexpr double kTables = 0.8;

TEST(ProcessorWork, EncodingMovesWhatIsCharged) {
  const char* const finite = "a pass looks for what is not finite";
  for (const bool feedback : {false, true}) {
    for (const Case& one : {
             Case{"redsync", feedback, 0, ""},
             {"redsync:large=0,reuse=1", feedback, kTables + (feedback ? 4 : 0),
              "tables; with these draws the search ends in a bin, which a pass gathers"},
             {"redsync:large=0", feedback, 0, "the third step uses the first one's threshold"},
             {"redsync:large=0,reuse=1,quantised=on", feedback, 12 + kTables + (feedback ? 0 : 4),
              "tables; one pass looks for what is not finite, one clears the other sign; without "
              "feedback the search ends in a bin"},
             {"sidco", feedback, kTables, "tables"},
             {"adacomp:bins=10", feedback, feedback ? 4 : 3.4,
              "a pass looks for what is not finite; kept values are charged .6 more than here"},
             {"cat:c0=20", feedback, kTables, "tables"},
             {"gaussian", feedback, 0, ""},
             {"ar-topk", feedback, 4, finite},
             {"ar-topk:decay=0.5", feedback, 4, finite},
             {"ar-topk:root=variance", feedback, 4, finite},
         }) {
      ExpectEncoding(one);
    }
  }
  ExpectEncoding({"gaussian:memory=ef21", true, 4, "the difference is a vector that is cleared"});
  ExpectEncoding({"gaussian:memory=ef21m", true, 4, "the difference is a vector that is cleared"});
  ExpectEncoding({"blocks", false, 4, finite});
  ExpectEncoding({"blocks", true, 4, finite});
  ExpectEncoding({"mean", false, 4, finite});
  ExpectEncoding({"signsgd", false, 4, finite});
  ExpectEncoding({"signsgd:momentum=0.9", false, 4, finite});
  ExpectEncoding({"natural:form=dithering", false, 4, finite});
  ExpectEncoding(
      {"terngrad-shared", false, 14.3,
       "a pass looks for what is not finite; two more take sums; codes are bytes first"});
  ExpectEncoding({"variance:alpha=4", true, 4, finite});
  for (const bool feedback : {false, true}) {
    ExpectEncoding({"omnireduce", feedback, 4, finite});
    ExpectEncoding({"omnireduce:block=1024", feedback, 4, finite});
    ExpectEncoding({"arc", feedback, 4, finite});
  }
  ExpectEncoding({"oktopk", false, 4, finite});
  const char* const bytes =
      "a pass looks for what is too large; the rotation is written and read; codes are bytes first";
  for (const bool feedback : {false, true}) {
    ExpectEncoding({"eden", feedback, feedback ? 4.0 : 3.0, "codes are bytes first"});
    ExpectEncoding({"thc", feedback, feedback ? 20.0 : 15.0, bytes});
  }
}

// Checks a hop over all values: the payload is decoded, the worker's own values are added, and the
// sum is encoded again.
void ExpectHop(const Case& one, double parameter) {
  const auto codec = MakeCodec(one.scheme);
  const CodecContext context = {.unit = 0, .parameter = parameter, .random = {}};
  const auto pieces = QuantisedPieces(*codec, kNumel, HopOrder::kRing, /*workers=*/1);
  const Hops hops =
      QuantisedHops(*codec, pieces, parameter, HopOrder::kRing, /*workers=*/1, kNumel);
  const auto& quantiser = static_cast<const QuantiserCodec&>(*codec).quantiser();
  const test::CountedProcessor processor;
  const std::vector<float>& own = Gradient(0);
  const Message message = codec->Encode(own, context);
  const std::vector<ByteSpan> messages = {message.bytes};
  const QuantiserHops coder(quantiser, context, kNumel, messages);
  const HopRange all = {0, kNumel};
  const Bytes payload = coder.Encode(0, 0, all, own);
  std::vector<float> sums(kNumel);
  test::CountedMemory::Take();
  coder.Decode(payload, all, sums);
  cpu::Add(own, sums);
  const Bytes next = coder.Encode(0, 0, all, sums);
  ExpectCharged("hop", one, test::CountedMemory::Take(), BytesOf(hops.work));
}

// A kernel holds a partial sum in registers; here it is a vector, which is decoded into, added to,
// checked and read again.
TEST(ProcessorWork, HopsMoveWhatIsCharged) {
  const char* const vector = "the sum is a vector that is decoded into, added to, checked and read";
  ExpectHop({"mx", false, 22, "codes are bytes first, and the sum is a vector"}, 8);
  ExpectHop({"maxmin", false, 20, vector}, 4);
  ExpectHop({"qsgd", false, 20.4, vector}, 4);
}

void ExpectErrors(const Case& one, const std::vector<double>& parameters) {
  const auto scheme = MakeScheme(one.scheme, {.error_feedback = one.feedback});
  const test::CountedProcessor processor;
  const Unit unit = Matrix();
  const std::vector<float> values = test::Normals(kNumel, 3);
  test::CountedMemory::Take();
  scheme->SquaredErrors(unit, values, parameters, {});
  const int64_t counted = test::CountedMemory::Take();
  ExpectCharged("errors", one, counted, BytesOf(scheme->ErrorWork(unit, parameters)));
}

TEST(ProcessorWork, ErrorTablesMoveWhatIsCharged) {
  for (const Case& one : {
           Case{"topk", true, kTables, "tables"},
           {"ar-topk", true, kTables, "tables"},
           {"flexible-topk", true, kTables, "tables"},
           {"topk+qsgd", true, 0, ""},
           {"randomk", true, 0, ""},
           {"sampled", true, 0, ""},
           {"dgc", true, 0, ""},
           {"redsync", true, 0, ""},
           {"sidco", true, 2 * kTables, "tables"},
           {"gaussian", true, 0, ""},
           {"blocks", true, 0, ""},
       }) {
    ExpectErrors(one, {0.01, 0.05});
  }
  ExpectErrors({"threshold", true, 0, ""}, {3, 2.5});
  for (const char* name : {"uniform", "qsgd", "maxmin", "rbf"}) {
    ExpectErrors({name, false, 0, ""}, {4, 8});
  }
  ExpectErrors({"fft", true, 4, "a pass looks for what is too large"}, {0.85, 0.95});
  ExpectErrors({"powersgd", true, 0, ""}, {2, 4});
  ExpectErrors({"variance", true, 4, "a pass looks for what is not finite"}, {1.5});
  ExpectErrors({"eden", true, 0, ""}, {1, 3});
}

// Counts the bytes that the only worker moves to observe, measure and announce.
void ExpectPolicy(const Case& one, const char* policy_text) {
  constexpr int64_t kSteps = 8;
  const auto scheme = MakeScheme(one.scheme, {.error_feedback = one.feedback});
  const test::CountedProcessor processor;
  const Unit unit = Matrix();
  const auto exchange = scheme->Open(unit, 1);
  const auto policy = MakePolicy(policy_text, {.scheme = scheme.get(),
                                               .units = {unit},
                                               .workers = 1,
                                               .total_steps = kSteps,
                                               .steps_per_epoch = 2,
                                               .parameter = scheme->Parameter().fallback,
                                               .seed = 9});
  std::vector<float> mean(kNumel);
  int64_t counted = 0;
  double charged = 0;
  const auto count = [&](const auto& call) {
    test::CountedMemory::Take();
    call();
    counted += test::CountedMemory::Take();
  };
  for (int64_t step = 0; step < kSteps; ++step) {
    const std::vector<float>& gradient = Gradient(step);
    std::vector<double> decided(1);
    policy->Decide({.step = step, .total_steps = kSteps, .learning_rate = 1, .steps_per_epoch = 2},
                   {&unit, 1}, decided);
    if (policy->ReadsLocalGradient()) {
      charged += BytesOf(policy->LocalWork());
      count([&] { policy->OnLocalGradient(0, gradient, exchange->ErrorFed(0, gradient)); });
    }
    const std::vector<double> candidates = policy->Candidates();
    exchange->Begin({.info = {.seed = 9, .step = step},
                     .parameter = decided[0],
                     .candidates = candidates,
                     .estimate = policy->Traits().estimates_candidates});
    if (!candidates.empty()) {
      std::vector<Probe> probes(1);
      count([&] { probes[0] = exchange->Measure(0, gradient); });
      charged += BytesOf(policy->OpenCall(PolicyMoment::kAgreement)->encode);
      policy->Accumulate(0, policy->Encode(0, probes).bytes);
      policy->FinishCall();
      exchange->Choose(policy->Chosen());
    }
    for (bool first = candidates.empty(); exchange->NextCall(); first = false) {
      const Message message =
          exchange->Encode(0, first ? std::span<const float>(gradient) : std::span<const float>());
      exchange->Accumulate(0, message.bytes);
      exchange->FinishCall();
    }
    exchange->Mean(mean);
    std::optional<CollectiveCall> call;
    count([&] { call = policy->OpenCall(PolicyMoment::kAnnouncement); });
    if (call) {
      charged += BytesOf(call->encode);
      policy->Accumulate(0, policy->Encode(0, {}).bytes);
      policy->FinishCall();
    }
    count([&] {
      policy->OnFeedback({.step = step,
                          .loss = 1,
                          .mean_gradient = mean,
                          .simulated_seconds = 1,
                          .communication_seconds = 1,
                          .message_bytes = 1e5});
    });
  }
  ExpectCharged(policy_text, one, counted, charged);
}

TEST(ProcessorWork, PoliciesMoveWhatIsCharged) {
  // The values to be compressed are computed in a separate vector, also for policies that read only
  // the gradient.
  ExpectPolicy({"topk", true, 4 * kTables + 124, "tables; a vector"}, "lgreco");
  ExpectPolicy({"topk", true, 4 * kTables, "tables"}, "lgreco:source=mean");
  ExpectPolicy({"topk", true, 8 * kTables + 124, "tables; a vector"}, "lgreco-accordion");
  ExpectPolicy({"topk", true, 36, "a vector"}, "accordion");
  ExpectPolicy({"powersgd", true, 56, "a vector"}, "edgc:window=3,every=3,start=0");
  ExpectPolicy({"topk", true, 96, "the exchange is charged the sum"}, "gravac:theta_min=100");
  ExpectPolicy({"topk", true, 96 + 8 * kTables, "the same; tables"}, "gravac:probe=estimate");
  ExpectPolicy({"topk", true, 48, "a vector"}, "kimad:split=knapsack,period=2");
  ExpectPolicy({"flexible-topk", true, 4 * kTables + 60, "tables; a vector"},
               "flexible:interval=2");
  ExpectPolicy({"fft+fp32", true, 48, "a pass looks for what is too large; a vector"},
               "theta:form=measured,interval=2");
}

}  // namespace
}  // namespace legacy::processor_work_test
