// Charged work (compress/work.h): every method has some, in amounts that follow from its algorithm.
#include "compress/work.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compress/exchange.h"
#include "compress/kernel_costs.h"
#include "compress/policy.h"
#include "compress/quantiser.h"
#include "compress/schemes/codec_step.h"
#include "compress/sparsifier.h"
#include "tests/compress/policy_driver.h"
#include "tests/compress/test_data.h"

namespace legacy::work_test {
namespace {

std::set<std::string> Known() {
  std::set<std::string> names;
  for (const KernelCost& cost : KernelCosts()) names.emplace(cost.name);
  return names;
}

int64_t ElementsOf(const WorkList& work, const std::string& kernel) {
  int64_t elements = 0;
  for (const Work& entry : work) elements += entry.kernel == kernel ? entry.elements : 0;
  return elements;
}

std::string Text(const WorkList& work) {
  std::string text;
  for (const Work& entry : work) {
    if (entry.kernel.empty()) continue;
    text += (text.empty() ? "" : ", ") + entry.kernel + " " + std::to_string(entry.elements);
    if (entry.launches > 1) text += " in " + std::to_string(entry.launches);
  }
  return text;
}

TEST(KernelCosts, AreOrderedAndMoveSomething) {
  std::string_view before;
  for (const KernelCost& cost : KernelCosts()) {
    EXPECT_LT(before, cost.name);
    before = cost.name;
    EXPECT_GE(cost.bytes, 0) << cost.name;
    EXPECT_FALSE(cost.what.empty()) << cost.name;
    EXPECT_TRUE(cost.launches > 0 || cost.bytes > 0 || cost.name == "lgreco.solve") << cost.name;
  }
}

// Returns the calls of one step of a unit of 64 x 64 with four workers: "encode -> decode; ..."
std::string Charged(const Scheme& scheme) {
  const Unit unit{.id = 0, .name = "u", .shape = {64, 64}, .offset = 0, .numel = 4096};
  constexpr int kWorkers = 4;
  const auto exchange = scheme.Open(unit, kWorkers);
  exchange->Begin({.info = {.seed = 1, .step = scheme.Traits().dense_steps},
                   .parameter = scheme.Parameter().fallback});
  std::string text;
  for (bool first = true; const auto call = exchange->NextCall(); first = false) {
    WorkList encode, decode;
    AddWork(call->encode, encode);
    AddWork(call->decode, decode);
    text += (text.empty() ? "" : "; ") + Text(encode) + " -> " + Text(decode);
    std::vector<Message> messages;
    for (int w = 0; w < kWorkers; ++w) {
      const std::vector<float> values = test::Normals(unit.numel, w);
      messages.push_back(exchange->Encode(w, first ? values : std::vector<float>()));
    }
    for (int w = 0; w < kWorkers; ++w) exchange->Accumulate(w, messages[w].bytes);
    exchange->FinishCall();
  }
  return text;
}

// Charged work of every scheme, with error feedback where it has any: passes over n = 4096
// elements, kept values (40 at 1 %), messages. A scheme that is missing here has a charge that no
// test checks.
const std::map<std::string, std::string>& Expected() {
  static const std::map<std::string, std::string> expected = {
#include "tests/compress/charged.inc"
  };
  return expected;
}

TEST(Work, OfEverySchemeIsThatOfItsAlgorithm) {
  for (const std::string& name : SchemeNames()) {
    const std::unique_ptr<Scheme> scheme = test::AnyScheme(name);
    const auto expected = Expected().find(name);
    const std::string text = Charged(*scheme);
    if (expected == Expected().end()) {
      ADD_FAILURE() << "{\"" << name << "\", \"" << text << "\"},";
      continue;
    }
    EXPECT_EQ(text, expected->second) << name;
  }
}

// A residual that decays is read and written once more, before everything else.
TEST(Work, OfDecayIsAPass) {
  for (const auto& [text, plain] :
       {std::pair{"topk:decay=0.5", "topk"},
        {"topk:memory=momentum,decay=0.5", "topk:memory=momentum"},
        {"ar-topk:decay=0.5", "ar-topk"},
        {"ar-topk:root=variance,decay=0.5", "ar-topk:root=variance"},
        {"flexible-topk:mode=gather,decay=0.5", "flexible-topk:mode=gather"},
        {"powersgd:decay=0.5", "powersgd"}}) {
    EXPECT_EQ(Charged(*MakeScheme(text)), "copy 4096, " + Charged(*MakeScheme(plain))) << text;
  }
  // Nothing is kept of units that are sent whole, nor without error feedback.
  EXPECT_EQ(Charged(*MakeScheme("topk:min_numel=5000,decay=0.5")),
            Charged(*MakeScheme("topk:min_numel=5000")));
  EXPECT_EQ(Charged(*MakeScheme("topk:decay=0.5", {.error_feedback = false})),
            Charged(*MakeScheme("topk", {.error_feedback = false})));
}

// EF21 reads g and m, and writes m and their difference, before it encodes; it adds to the estimate
// of the mean after the last call.
TEST(Work, OfEf21IsThatOfItsEstimates) {
  for (const char* name : {"topk", "gaussian", "fp16"}) {
    for (const char* memory : {":memory=ef21", ":memory=ef21m"}) {
      EXPECT_EQ(Charged(*MakeScheme(std::string(name) + memory)),
                "copy 8192, " + Charged(*MakeScheme(name)) + ", accumulate 4096");
    }
  }
  EXPECT_EQ(Charged(*MakeScheme("topk:memory=ef21,min_numel=5000")),
            Charged(*MakeScheme("dense", {.error_feedback = false})));
  EXPECT_EQ(Charged(*MakeScheme("topk:memory=ef21m,min_numel=5000")),
            "accumulate 4096, " + Charged(*MakeScheme("dense", {.error_feedback = false})));
}

// The sums of a ring are the network's own work, as those in fp32 are.
TEST(Work, OfSumsByHopsIsThatOfPlainOnes) {
  for (const std::string name : {"fp16", "bf16"}) {
    EXPECT_EQ(Charged(*MakeScheme(name + ":reduction=hop")), Charged(*MakeScheme(name))) << name;
  }
}

TEST(Work, EveryKernelHasACost) {
  const std::set<std::string> known = Known();
  const auto check = [&](const WorkList& work, const std::string& what) {
    for (const Work& entry : work) {
      EXPECT_TRUE(entry.kernel.empty() || known.contains(entry.kernel))
          << what << ": " << entry.kernel;
    }
  };
  const Unit unit{.id = 0, .name = "u", .shape = {64, 64}, .offset = 0, .numel = 4096};
  for (const std::string& name : SchemeNames()) {
    const std::unique_ptr<Scheme> scheme = test::AnyScheme(name);
    const std::vector<double> parameters(2, scheme->Parameter().fallback);
    check(scheme->ErrorWork(unit, parameters), name + ", errors");
    check(scheme->SelectWork(4096, parameters[0]), name + ", select");
  }
  for (const SparsifierRow& row : SparsifierTable()) {
    for (const QuantiserRow& values : QuantiserTable()) {
      if (row.info.name == "redsync" || values.info.name == "mean") continue;
      const auto codec = MakeCodec(row.info.name + "+" + values.info.name);
      const double parameter = codec->Parameter().fallback;
      check(codec->EncodeWork(4096, {.parameter = parameter, .random = {}}),
            std::string(codec->Name()));
      check(codec->PackWork(40, Feeding::kAdded), std::string(codec->Name()));
      check(codec->DecodeWork(4096, parameter), std::string(codec->Name()));
    }
  }
  for (const PolicyRow& row : PolicyTable()) {
    const std::string scheme = test::SchemeOf(row.info.name);
    const auto [anchor, units] = test::AnchorAndUnits(scheme);
    const PolicyContext context = {.units = units,
                                   .workers = 3,
                                   .total_steps = 8,
                                   .steps_per_epoch = 2,
                                   .parameter = anchor,
                                   .seed = 9};
    test::PolicyDriver driver(row.info.name, scheme, context);
    for (int64_t step = 0; step < 8; ++step) {
      check(driver.policy().LocalWork(), row.info.name + ", local");
      const auto result =
          driver.Step({.step = step, .total_steps = 8, .learning_rate = 1, .steps_per_epoch = 2},
                      test::NormalGradients(context.units), {.loss = 1, .simulated_seconds = 1});
      check(result.policy_work, row.info.name);
    }
  }
}

TEST(Work, MessagesAreCountedExactly) {
  const Unit unit = test::MakeUnit(65536);
  for (const char* text : {"fft", "fft+rbf", "topk", "topk+qsgd", "qsgd"}) {
    const auto codec = MakeCodec(text);
    for (const double parameter : {0.0, 0.01, 0.5, 0.85}) {
      if (codec->Parameter().name == "bits" || parameter < codec->Parameter().minimum) continue;
      for (const int workers : {1, 4, 7}) {
        const CodecStep step = {
            .codec = *codec, .unit = unit, .parameter = parameter, .active_workers = workers};
        if (codec->Linear(unit.numel, parameter)) continue;
        const WorkList one = codec->DecodeWork(unit.numel, parameter);
        const WorkList all = step.Messages(std::nullopt).decode;
        for (const Work& entry : one) {
          EXPECT_EQ(ElementsOf(all, entry.kernel), entry.elements * workers)
              << text << " " << entry.kernel;
        }
      }
    }
  }
}

// Elias codes are written and read one after the other, in messages and in the worker's own
// residual. An error table needs none.
TEST(Work, EliasCodesAreChargedAsSuch) {
  EXPECT_EQ(Charged(*MakeScheme("qsgd:code=elias", {.error_feedback = false})),
            "qsgd-elias.encode 4096, moved 2048 -> ;  -> qsgd-elias.decode 16384 in 4, "
            "moved 8192 in 4, mean 4096");
  EXPECT_EQ(Charged(*MakeScheme("topk+qsgd:code=elias")),
            "topk.encode 4096, moved 35028 in 5, sparse.encode 40, qsgd-elias.encode 40, feedback "
            "4096, entries.store 40 -> ;  -> sparse.decode 160 in 4, qsgd-elias.decode 160 in 4, "
            "moved 80 in 4, sparse.sum 4096");
  const Unit unit = test::MakeUnit(4096);
  const std::vector<double> bits = {4};
  EXPECT_EQ(Text(MakeScheme("qsgd:code=elias")->ErrorWork(unit, bits)),
            Text(MakeScheme("qsgd")->ErrorWork(unit, bits)));
  EXPECT_GT(CostOf("qsgd-elias.encode").bytes, 15 * CostOf("qsgd.encode").bytes);
}

// The work counts the values of the message, not the number that was requested.
TEST(Work, ValuesThatDependOnTheDataAreCounted) {
  const Unit unit = test::MakeUnit(65536);
  const auto codec = MakeCodec("threshold");
  const CodecStep step = {.codec = *codec,
                          .unit = unit,
                          .parameter = 1,
                          .active_workers = 3,
                          .memory = {.kind = MemoryKind::kResidual}};
  EXPECT_EQ(Text(step.Lengths().encode), "threshold.encode 65536, feedback 65536");
  const CollectiveCall messages = step.Messages(100);
  EXPECT_EQ(Text(messages.encode), "sparse.encode 33, moved 1848 in 2");
  EXPECT_EQ(Text(messages.decode), "sparse.decode 100 in 3, sparse.sum 65536");
}

// RedSync searches in the first of five steps, and when the density has changed.
TEST(Work, SearchesOfRedSyncAreChargedWhereTheyAreMade) {
  const auto scheme = MakeScheme("redsync:large=0,small=0");
  const Unit unit = test::MakeUnit(4096);
  const auto exchange = scheme->Open(unit, 1);
  std::string searched;
  for (int64_t step = 7; step < 17; ++step) {
    const double density = step < 14 ? 0.01 : 0.02;
    exchange->Begin({.info = {.seed = 1, .step = step}, .parameter = density});
    const auto call = exchange->NextCall();
    searched += ElementsOf(call->encode, "redsync.encode") > 0 ? 's' : '-';
    EXPECT_EQ(
        ElementsOf(call->encode, "redsync.encode") + ElementsOf(call->encode, "threshold.encode"),
        4096);
    exchange->Accumulate(0, exchange->Encode(0, test::Normals(4096, step)).bytes);
    exchange->FinishCall();
    exchange->NextCall();
    exchange->Accumulate(0, exchange->Encode(0, {}).bytes);
    exchange->FinishCall();
  }
  EXPECT_EQ(searched, "s----s-s--");
}

// A power iteration for all ranks makes three products each way, with 8 vectors more than the
// largest rank.
TEST(Work, ErrorTablesAreChargedAsComputed) {
  const Unit unit{.id = 0, .name = "u", .shape = {256, 256}, .offset = 0, .numel = 65536};
  const auto work = [&](const char* scheme, std::vector<double> parameters) {
    return MakeScheme(scheme)->ErrorWork(unit, parameters);
  };
  const int64_t gram = 256 * 16 * 17 / 2;
  EXPECT_EQ(ElementsOf(work("powersgd", {2, 4, 8}), "powersgd.multiply"), 96 * 65536 + gram);
  EXPECT_EQ(Text(work("topk", {0.01, 0.1, 0.5})), "histogram 65536");
  EXPECT_EQ(ElementsOf(work("sidco", {0.01, 0.1, 0.5}), "sidco.encode"), 3 * 65536);
  EXPECT_EQ(ElementsOf(work("topk+qsgd", {0.01, 0.1, 0.5}), "topk.encode"), 3 * 65536);
  EXPECT_EQ(ElementsOf(work("fft", {0.5, 0.85}), "fft.forward"), 65536);
}

TEST(Work, ProbesAreOfTheSchemesSparsifier) {
  const PolicyContext context = {.units = test::MakeUnits({6000, 900}),
                                 .workers = 2,
                                 .total_steps = 4,
                                 .steps_per_epoch = 2,
                                 .parameter = 0.02,
                                 .seed = 9};
  test::PolicyDriver driver("gravac", "sampled", context);
  const auto result =
      driver.Step({.step = 0, .total_steps = 4, .learning_rate = 1, .steps_per_epoch = 2},
                  test::NormalGradients(context.units), {.loss = 1, .simulated_seconds = 1});
  EXPECT_GE(ElementsOf(result.policy_work, "sampled.encode"), 6900);
  EXPECT_LT(ElementsOf(result.policy_work, "topk.encode"), 6900 / 2);  // where far too many pass
}

}  // namespace
}  // namespace legacy::work_test