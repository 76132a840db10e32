// Every option of every codec and scheme, set as text, changes the messages or the result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "compress/quantiser.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/dense_start.h"
#include "compress/sparsifier.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::options_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kWorkers = 3;
constexpr int64_t kSteps = 12;  // range-based floats fix their range after 10 steps

// A value of an option that is not its default, and other options that it needs to have a meaning.
struct Setting {
  std::string value;
  std::string base = {};
};

// Options that are not in the table are tried with each of their choices.
const std::map<std::string, Setting>& Settings() {
  static const std::map<std::string, Setting> settings = {
      {"adacomp.bin", {"50"}},
      {"again", {"gather", "where=after-mean"}},
      {"adacomp.bins", {"10"}},
      {"arc.rank", {"2"}},
      {"blocks.block", {"32"}},
      {"cat.c0", {"100"}},
      {"beta", {"0.5", "memory=loco"}},
      {"cat.c1", {"1000"}},
      {"cat.packet", {"100"}},
      {"cat.stop", {"maximum", "c1=1e-12,packet=64"}},
      {"dct.chunk", {"16"}},
      {"dct.k", {"5"}},
      {"dct.shape", {"line"}},
      {"demo.beta", {"0.5"}},
      {"demo.chunk", {"16"}},
      {"demo.k", {"7"}},
      {"eden.bits", {"3"}},
      {"eden.block", {"64"}},
      {"eden.scale", {"unbiased"}},
      {"eden.rotation", {"own"}},
      {"eta", {"0.5", "memory=ef21m"}},
      {"feedback", {"first", "reduction=ring"}},
      {"fft.chunk", {"64"}},
      {"flexible-topk.mode", {"reduce"}},
      {"flexible-topk.root", {"variance", "mode=reduce"}},
      {"index", {"u32"}},
      {"int.bits", {"6"}},
      {"int.bucket", {"64"}},
      {"int.range", {"narrow"}},
      {"int.smooth", {"on"}},
      {"local_clip", {"2"}},
      {"masking", {"off", "memory=momentum"}},
      {"maxmin.bits", {"6"}},
      {"maxmin.bucket", {"64"}},
      {"min_numel", {"1000000"}},
      {"momentum", {"0.5", "memory=momentum"}},
      {"mx.block", {"64"}},
      {"natural.bits", {"8"}},
      {"natural.bucket", {"64", "form=dithering"}},
      {"natural.levels", {"4", "form=dithering"}},
      {"natural.norm", {"l2", "form=dithering"}},
      {"oktopk.balance", {"1"}},
      {"oktopk.regions", {"3"}},
      {"oktopk.thresholds", {"3"}},
      {"omnireduce.block", {"32"}},
      {"onebit-adam.warmup", {"5"}},
      {"nesterov", {"on", "memory=momentum"}},
      {"powersgd.min_rate", {"1000"}},
      {"qsgd.bits", {"6"}},
      {"qsgd.bucket", {"64"}},
      {"qsgd.levels", {"5"}},
      {"rbf.bits", {"6"}},
      {"rbf.mantissa", {"2"}},
      {"redsync.masking", {"off", "small=0,memory=momentum"}},
      {"redsync.compatible", {"on", "small=0,large=0"}},
      {"randomk.index", {"u32", "seed=worker"}},
      {"redsync.index", {"u32", "small=0"}},
      {"redsync.eps", {"0.9", "small=0,large=0"}},
      {"redsync.large", {"0", "small=0"}},
      {"redsync.quantised", {"on", "small=0"}},
      {"redsync.reuse", {"1", "small=0,large=0"}},
      {"redsync.small", {"0"}},
      {"reset_every", {"2", "memory=loco"}},
      {"sample", {"0.5"}},
      {"servers", {"3", "where=server"}},
      {"sidco.stages", {"1"}},
      {"signsgd.momentum", {"0.9"}},
      {"storage", {"int8", "memory=loco"}},
      {"signsgd.scale", {"2"}},
      {"terngrad-shared.clip", {"1"}},
      {"terngrad.clip", {"1"}},
      {"thc.bits", {"3"}},
      {"thc.block", {"64"}},
      {"thc.clamped", {"0.01"}},
      {"thc.granularity", {"40"}},
      {"threshold.budget", {"1"}},
      {"uniform.bits", {"4"}},
      {"variance.alpha", {"3"}},
      {"variance.zeta", {"0.5"}},
      {"where", {"after-mean"}}};
  return settings;
}

std::vector<std::string> SplitChoices(const std::string& allowed) {
  std::vector<std::string> choices;
  for (size_t begin = 0; begin < allowed.size();) {
    const size_t end = std::min(allowed.find(", ", begin), allowed.size());
    choices.push_back(allowed.substr(begin, end - begin));
    begin = end + 2;
  }
  return choices;
}

std::vector<Setting> SettingsOf(const std::string& name, const OptionSpec& option) {
  for (const std::string& key : {name + "." + option.name, option.name}) {
    const auto found = Settings().find(key);
    if (found != Settings().end()) return {found->second};
  }
  std::vector<Setting> all;
  for (const std::string& choice : SplitChoices(option.allowed)) {
    if (choice != option.fallback) all.push_back({choice});
  }
  return all;
}

// Returns a matrix; a vector for the option about vectors.
Unit UnitFor(const OptionSpec& option) {
  Unit unit = test::MakeUnit(60 * 50, 1);
  if (option.name != "vectors") unit.shape = {60, 50};
  return unit;
}

// Messages of all workers and their results, over some steps.
struct Trace {
  std::vector<Bytes> messages;
  std::vector<std::vector<float>> means;
  std::optional<double> clip;
  friend bool operator==(const Trace&, const Trace&) = default;
};

// Returns normal values whose spread changes along the unit and over the steps. For CAT's way to
// stop all values have the same magnitude: only the room that whole packets leave moves the first
// decrease away from the maximum.
std::vector<std::vector<float>> Gradients(const Unit& unit, int64_t step,
                                          const OptionSpec& option) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) {
    std::vector<float>& values = gradients.emplace_back(test::Normals(unit.numel, 31 * step + w));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] *= static_cast<float>(1 + step % 3) / static_cast<float>(1 + i % 7);
    }
    if (option.name == "stop") std::ranges::fill(values, 1.0f);
  }
  return gradients;
}

Trace TraceOf(const std::string& text, const OptionSpec& option) {
  const Unit unit = UnitFor(option);
  const std::unique_ptr<Scheme> scheme = test::AnyScheme(text);
  const auto exchange = scheme->Open(unit, kWorkers);
  Trace trace{{}, {}, scheme->LocalClipNorm(kWorkers)};
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<Message> sent;
    const UnitStep context = {.info = {.seed = 5, .step = step, .learning_rate = 0.5},
                              .parameter = scheme->Parameter().fallback};
    const auto gradients = Gradients(unit, step, option);
    trace.means.push_back(test::RunStep(*exchange, context, gradients, &sent));
    for (Message& message : sent) trace.messages.push_back(std::move(message.bytes));
  }
  return trace;
}

std::string Join(const std::string& one, const std::string& two) {
  return one + (one.empty() || two.empty() ? "" : ",") + two;
}

// Traces with the base options alone, and with the option as well.
struct Traces {
  Trace plain, set;

  Traces(const std::string& name, const OptionSpec& option, const Setting& setting)
      : plain(TraceOf(name + (setting.base.empty() ? "" : ":" + setting.base), option)),
        set(TraceOf(name + ":" + Join(setting.base, option.name + "=" + setting.value), option)) {}
};

TEST(Options, EveryOptionOfEveryCodecActs) {
  for (const std::string& name : CodecNames()) {
    for (const OptionSpec& option : CodecInfo(name).options) {
      const auto settings = SettingsOf(name, option);
      EXPECT_FALSE(settings.empty()) << name << ": " << option.name;
      for (const Setting& setting : settings) {
        const Traces traces(name, option, setting);
        // A codec's option must change the bytes, not only what the scheme makes of them.
        EXPECT_TRUE(traces.set.messages != traces.plain.messages)
            << name << ": " << option.name << "=" << setting.value;
        EXPECT_EQ(traces.set.clip, traces.plain.clip) << name << ": " << option.name;
      }
    }
  }
}

TEST(Options, EveryOptionOfEverySchemeActs) {
  for (const SchemeRow& row : SchemeTable()) {
    for (const OptionSpec& option : row.info.options) {
      if (option.name == "reduction") continue;  // only for quantisers in buckets
      if (option.name == "feedback" || option.name == "slice") continue;  // only of sums by hops
      if (option.name == "where" || option.name == "again" || option.name == "servers") {
        continue;  // only without momentum
      }
      if (option.name == "slots") continue;  // changes no message, but when it travels
      const auto settings = SettingsOf(row.info.name, option);
      EXPECT_FALSE(settings.empty()) << row.info.name << ": " << option.name;
      for (const Setting& setting : settings) {
        const Traces traces(row.info.name, option, setting);
        EXPECT_FALSE(traces.set == traces.plain)
            << row.info.name << ": " << option.name << "=" << setting.value;
      }
    }
  }
}

// Returns whether an option has nothing to act on: dense units are whole already, and a codec that
// sends all values masks none.
bool IsIdle(const std::string& codec, const OptionSpec& option) {
  if (option.name == "min_numel" || option.name == "vectors" || option.name == "where") {
    return codec == "dense";
  }
  // Nothing is left over of what is sent whole, as redsync does with small units.
  if (option.name == "memory" || option.name == "beta" || option.name == "reset_every" ||
      option.name == "storage") {
    return codec == "dense" || codec == "redsync";
  }
  // Sums by hops take residuals only where no parameter refuses them, and slices change no message.
  if (option.name == "feedback") return codec == "maxmin" || codec == "qsgd" || codec == "int";
  if (option.name == "slice") return true;
  return option.name == "masking" && MakeCodec(codec)->Sparse() == nullptr;
}

// A scheme option of codecs acts on each codec, or the codec refuses it; some codec accepts it.
TEST(Options, EveryOptionOfCodecsAsSchemesActs) {
  std::set<std::string> accepted;
  for (const std::string& name : CodecNames()) {
    for (const OptionSpec& option : CodecSchemeOptionSpecs()) {
      if (IsIdle(name, option)) continue;
      for (const Setting& setting : SettingsOf(name, option)) {
        try {
          const Traces traces(name, option, setting);
          EXPECT_FALSE(traces.set == traces.plain) << name << ": " << option.name;
          accepted.insert(option.name);
        } catch (const Error&) {
        }
      }
    }
  }
  EXPECT_EQ(accepted.size() + 1, CodecSchemeOptionSpecs().size()) << "all but slice";
}

// Everything is sent at first, and then what the scheme sends; its state starts after the dense
// steps.
TEST(Options, EverySchemeCanStartDense) {
  const Unit unit = UnitFor(DenseStartOption());
  for (const std::string& name : SchemeNames()) {
    if (test::AnyScheme(name)->Traits().owns_momentum) {
      EXPECT_THROW(MakeScheme(name + ":dense_start=2"), Error) << name;
      continue;
    }
    const auto scheme = test::AnyScheme(name + ":dense_start=2");
    EXPECT_EQ(scheme->Traits().dense_steps, 2) << name;
    const auto started = scheme->Open(unit, kWorkers),
               plain = test::AnyScheme(name)->Open(unit, kWorkers);
    const auto dense = MakeScheme("dense")->Open(unit, kWorkers);
    for (int64_t step = 0; step < 5; ++step) {
      const UnitStep context = {.info = {.seed = 5, .step = step},
                                .parameter = scheme->Parameter().fallback};
      const auto gradients = Gradients(unit, step, DenseStartOption());
      plain->Begin(context);  // PowerSGD draws its first factor when it begins
      EXPECT_EQ(test::RunStep(*started, context, gradients),
                test::RunStep(step < 2 ? *dense : *plain, context, gradients))
          << name << " " << step;
    }
  }
}

// The message about an option that does not exist has all that do, of the codec and of the scheme.
TEST(Options, AWrongOneIsAnsweredWithAllThatThereAre) {
  for (const std::string& name : SchemeNames()) {
    std::string said;
    try {
      MakeScheme(name + ":dense_strat=3");
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_THAT(said, StartsWith("option of " + name +
                                 ": got 'dense_strat'; did you mean "
                                 "dense_start?; allowed: "));
    const auto names = CodecNames();
    if (std::ranges::find(names, name) == names.end()) continue;
    for (const OptionSpec& own : CodecInfo(name).options) EXPECT_THAT(said, HasSubstr(own.name));
    for (const OptionSpec& own : CodecSchemeOptionSpecs()) EXPECT_THAT(said, HasSubstr(own.name));
  }
  EXPECT_EQ(MessageOf([] { MakeCodec("randomk:indx=u16"); }),
            "option of randomk: got 'indx'; did you mean index?; allowed: unbiased, seed, index");
}

// No codec has an option with the name of a scheme option, as an option in a codec's first stage
// may be either.
TEST(Options, NoCodecSharesANameWithItsScheme) {
  for (const std::string& name : CodecNames()) {
    for (const OptionSpec& own : CodecInfo(name).options) {
      for (const OptionSpec& scheme : CodecSchemeOptionSpecs()) EXPECT_NE(own.name, scheme.name);
    }
  }
}

// TernGrad clips by standard deviations in its quantiser, and does not clip the gradient as a
// whole.
TEST(Options, TernGradClipsByItsOwnOption) {
  const auto values = test::Normals(1000, 4);
  std::set<std::vector<float>> different;
  for (const char* clip : {"0", "1", "2.5"}) {
    const std::string text = std::string("terngrad:clip=") + clip;
    const auto scheme = MakeScheme(text, {.error_feedback = false});
    EXPECT_FALSE(scheme->LocalClipNorm(4)) << text;
    const auto exchange = scheme->Open(test::MakeUnit(1000), 1);
    different.insert(test::RunStep(*exchange, {.info = {.seed = 5}}, {values}));
  }
  EXPECT_EQ(different.size(), 3u);
}

}  // namespace
}  // namespace legacy::options_test