// Methods of users: what the tables accept, and the messages about a method that misbehaves.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "compress/density.h"
#include "compress/registry/registry.h"
#include "scenarios/codec/codec_run.h"
#include "scenarios/codec/method_check.h"
#include "tests/programs.h"

namespace legacy::plugins_test {
namespace {

namespace fs = std::filesystem;

const MethodTables kTables("test.so");

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Keeps the first values; `fault` names what it does wrong.
class FirstK : public Sparsifier {
 public:
  explicit FirstK(std::string fault) : fault_(std::move(fault)) {}
  std::string_view Name() const override { return "first"; }
  CodecId Id() const override { return CodecId::kUser; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  WorkList EncodeWork(int64_t numel, const CodecContext&) const override {
    if (fault_ == "work") return {{"threshold.encode", -numel}};
    return {{fault_ == "kernel" ? "first.encode" : "threshold.encode", numel}};
  }
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext&) const override {
    if (fault_ == "throw") throw std::out_of_range("at 7");
    if (fault_ == "number") throw 7;
    Selection selection;
    for (int64_t i = 0; i < count; ++i) {
      selection.positions.push_back(static_cast<uint32_t>(i));
      selection.values.push_back(values[i]);
    }
    if (fault_ == "order" && count > 1) std::swap(selection.positions[0], selection.positions[1]);
    if (fault_ == "outside") selection.positions.back() = static_cast<uint32_t>(values.size());
    if (fault_ == "count") selection.positions.pop_back(), selection.values.pop_back();
    if (fault_ == "values") selection.values.pop_back();
    return selection;
  }

 private:
  std::string fault_;
};

// Sends fp32 values as they lie in memory.
class Raw : public Quantiser {
 public:
  explicit Raw(std::string fault) : fault_(std::move(fault)) {}
  std::string_view Name() const override { return "raw"; }
  ValueType Type() const override { return ValueType::kUser; }
  const ParameterSpec& Parameter() const override {
    static const ParameterSpec none;
    return none;
  }
  bool AllowsErrorFeedback(double) const override { return true; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return 4 * count + (fault_ == "length" ? 1 : 0);
  }
  Work EncodeWork(int64_t count, double) const override { return {"copy", count}; }
  Work DecodeWork(int64_t count, double) const override {
    return {"copy", count, fault_ == "work" ? -1 : 1};
  }
  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    const auto bytes = std::as_bytes(values);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  void Decode(ByteSpan segment, double, std::span<float> values) const override {
    if (fault_ == "crash" && segment.size() != values.size_bytes()) std::abort();
    if (segment.size() != values.size_bytes()) throw Error("raw: a segment of another length");
    std::memcpy(values.data(), segment.data(), segment.size());
    if (fault_ == "infinite") values.front() = INFINITY;
  }
  double SquaredError(std::span<const float>, double) const override { return 0; }

 private:
  std::string fault_;
};

class Wild : public Policy {
 public:
  explicit Wild(double parameter) : parameter_(parameter) {}
  std::string_view Name() const override { return "wild"; }
  void Decide(const StepInfo&, std::span<const Unit>, std::span<double> parameters) override {
    if (parameter_ < 0) throw std::runtime_error("no idea");
    parameters.back() = parameter_;
  }
  // -1 in all, although no entry of the sum would be negative.
  std::optional<CollectiveCall> OpenCall(PolicyMoment moment) override {
    if (moment != PolicyMoment::kAnnouncement || parameter_ != 0.25) return std::nullopt;
    return CollectiveCall{.encode = {{"copy", -1}, {"copy", 5}}, .decode = {}};
  }

 private:
  double parameter_;
};

const std::vector<OptionSpec> kFault = {{"fault", "none", "text", "what goes wrong"}};

// Adds the test's methods once: the tables keep them.
void AddMethods() {
  static const bool added = [] {
    kTables.Add(SparsifierRow{.info = {"first", "the first k values", "", kFault},
                              .make = [](const OptionReader& options) {
                                return std::make_unique<FirstK>(options.Text("fault"));
                              }});
    kTables.Add(QuantiserRow{.info = {"raw", "fp32 as it lies in memory", "", kFault},
                             .make = [](const OptionReader& options) {
                               return std::make_unique<Raw>(options.Text("fault"));
                             }});
    kTables.Add(PolicyRow{.info = {"wild", "anything", "", {{"to", "0.5", "number", "parameter"}}},
                          .make = [](const OptionReader& options, const PolicyContext&) {
                            return std::make_unique<Wild>(options.Number("to", -9, 9));
                          }});
    return true;
  }();
  (void)added;
}

std::string RunMessage(const std::string& codec, const std::string& policy = "uniform") {
  AddMethods();
  GradientOptions gradients;
  gradients.drawn = "gaussian:n=1000";
  gradients.workers = 2;
  GradientSource source(gradients);
  RunOptions options;
  options.policy = policy;
  return MessageOf([&] { RunCodec(ParseCodec(codec), options, source); });
}

TEST(MethodTables, RefuseInvalidNamesAndRows) {
  const auto adding = [](const std::string& name) {
    return MessageOf([&] {
      kTables.Add(SparsifierRow{.info = {name, "", "", {}}, .make = [](const OptionReader&) {
                                  return std::make_unique<FirstK>("");
                                }});
    });
  };
  for (const char* taken : {"topk", "dense", "fp32", "qsgd", "fft", "powersgd"}) {
    EXPECT_NE(adding(taken).find("names that no other method has"), std::string::npos) << taken;
  }
  for (const char* bad : {"", "Top", "a b", "x+y", "x:y", "x@1"}) {
    EXPECT_NE(adding(bad).find("letters a to z"), std::string::npos) << bad;
  }
  EXPECT_NE(MessageOf([] {
              kTables.Add(PolicyRow{.info = {"legacy-both", "", "", {}}, .make = nullptr});
            }).find("names that no other method has"),
            std::string::npos);
  EXPECT_NE(MessageOf([] {
              kTables.Add(PolicyRow{.info = {"idle", "", "", {}}, .make = nullptr});
            }).find("no `make`"),
            std::string::npos);
}

TEST(Plugins, GoodMethodsWorkEverywhere) {
  EXPECT_EQ(RunMessage("first@10%"), "nothing was thrown");
  EXPECT_EQ(RunMessage("first+raw@10%"), "nothing was thrown");
  EXPECT_EQ(RunMessage("topk+raw@10%"), "nothing was thrown");
  EXPECT_EQ(RunMessage("raw"), "nothing was thrown");
  EXPECT_EQ(RunMessage("first+qsgd@10%"), "nothing was thrown");
  EXPECT_EQ(RunMessage("topk@10%", "wild"), "nothing was thrown");
}

TEST(Plugins, MisbehavingMethodsAreReported) {
  const std::string first = "plugin test.so: first: ", raw = "plugin test.so: raw: ";
  EXPECT_EQ(RunMessage("first:fault=throw@10%"), first + "SelectWithFeedback threw: at 7");
  EXPECT_EQ(RunMessage("first:fault=number@10%"),
            first + "SelectWithFeedback threw something that is not a std::exception");
  EXPECT_EQ(RunMessage("first:fault=count@10%"),
            first + "selected 99 values, said 100 (fixed_count)");
  EXPECT_EQ(RunMessage("first:fault=values@10%"), first + "selected 100 positions and 99 values");
  EXPECT_NE(RunMessage("first:fault=order@10%").find(first + "selected position 0 of 1000"),
            std::string::npos);
  EXPECT_NE(RunMessage("first:fault=outside@10%").find(first + "selected position 1000 of 1000"),
            std::string::npos);
  EXPECT_EQ(RunMessage("raw:fault=length"),
            raw + "Encode wrote 4000 bytes for 1000 values, SegmentBytes said 4001");
  EXPECT_EQ(RunMessage("raw:fault=infinite"), raw + "Decode gave a value that is not finite");
  EXPECT_NE(RunMessage("topk", "wild:to=3").find("plugin test.so: wild: Decide, step 0, unit "),
            std::string::npos);
  EXPECT_EQ(RunMessage("topk", "wild:to=-1"), "plugin test.so: wild: Decide threw: no idea");
  EXPECT_EQ(RunMessage("first:fault=work@10%"),
            first + "EncodeWork declares -1000 elements of kernel threshold.encode");
  EXPECT_EQ(RunMessage("raw:fault=work"), raw + "DecodeWork declares -1 launches of kernel copy");
  EXPECT_EQ(RunMessage("topk", "wild:to=0.25"),
            "plugin test.so: wild: OpenCall declares -1 elements of kernel copy");
}

// Returns the properties that do not hold; "" if all do.
std::string Failed(const std::vector<CheckedProperty>& checked) {
  std::string failed;
  for (const CheckedProperty& property : checked) {
    if (!property.holds) failed += property.name + ": " + property.detail + "\n";
  }
  return failed;
}

TEST(MethodCheck, EveryCodecHasTheProperties) {
  const std::vector<std::string> added = AddedCodecs();
  for (const std::string& name : CodecNames()) {
    if (std::ranges::find(added, name) != added.end()) continue;
    EXPECT_EQ(Failed(CheckCodec(name)), "") << name;
  }
  EXPECT_EQ(Failed(CheckCodec("topk:index=delta+rbf:bits=8")), "");
}

TEST(MethodCheck, EverySchemeHasTheProperties) {
  for (const SchemeRow& row : SchemeTable()) {
    EXPECT_EQ(Failed(CheckScheme(row.info.name)), "") << row.info.name;
  }
}

TEST(MethodCheck, EveryPolicyHasTheProperties) {
  for (const PolicyRow& row : PolicyTable()) {
    if (row.info.name == "wild") continue;
    EXPECT_EQ(Failed(CheckPolicy(row.info.name)), "") << row.info.name;
  }
}

TEST(MethodCheck, TellsWhatDoesNotHold) {
  AddMethods();
  EXPECT_EQ(Failed(CheckCodec("first+raw")).substr(0, 20), "refuses wrong input:");
  EXPECT_NE(Failed(CheckCodec("first:fault=kernel")).find("costs of its kernels: kernel: got "),
            std::string::npos);
  EXPECT_NE(Failed(CheckCodec("first:fault=work")).find("EncodeWork declares -"),
            std::string::npos);
  EXPECT_NE(
      Failed(CheckCodec("raw:fault=length")).find("length: plugin test.so: raw: Encode wrote"),
      std::string::npos);
  EXPECT_NE(Failed(CheckCodec("raw:fault=crash")).find("hostile bytes: it ended by signal 6"),
            std::string::npos);
  EXPECT_NE(Failed(CheckPolicy("wild:to=3")).find("parameters inside the range: step 0"),
            std::string::npos);
}

// Compiles a plugin as a user does, with the command of ./waf plugin, and runs the program.
class PluginFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("legacy-plugins-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  Result Compile(const std::string& text, const std::string& flags = "") const {
    std::ofstream(folder_ / "mine.cc") << text;
    return Shell(Read(LEGACY_PLUGIN_COMMAND) + " " + flags + " -o " + Object() + " " +
                 (folder_ / "mine.cc").string() + " 2>&1");
  }
  Result Codec(const std::string& arguments) const {
    return Shell(LEGACY_CODEC_PROGRAM " " + arguments + " 2>&1");
  }
  std::string Object() const { return (folder_ / "mine.so").string(); }
  fs::path folder_;
};

constexpr const char* kMine = R"(
#include "compress/registry/plugin.h"
struct Half : legacy::Policy {
  std::string_view Name() const override { return "half"; }
  void Decide(const legacy::StepInfo&, std::span<const legacy::Unit>,
              std::span<double> parameters) override {
    for (double& parameter : parameters) parameter = 0.5;
  }
};
LEGACY_PLUGIN(tables) {
  tables.Add(legacy::PolicyRow{
      .info = {"half", "one half", "", {}},
      .make = [](const legacy::OptionReader&, const legacy::PolicyContext&) {
        return std::make_unique<Half>();
      }});
}
)";

TEST_F(PluginFile, IsLoadedByItsOptionOrTheEnvironment) {
  const Result compiled = Compile(kMine);
  ASSERT_EQ(compiled.status, 0) << compiled.text;
  const std::string check = "check half --plugin=" + Object();
  EXPECT_EQ(Codec(check).status, 0) << Codec(check).text;
  EXPECT_EQ(Codec("--plugin " + Object() + " check").text, Codec(check).text);
  EXPECT_EQ(Codec("check half").status, 2);
  const std::string twice = "list --plugin=" + Object() + " --plugin=" + Object();
  EXPECT_EQ(Codec(twice).status, 0) << Codec(twice).text;
  const Result inherited =
      Shell("LEGACY_PLUGINS=" + Object() + " " LEGACY_CODEC_PROGRAM " check half 2>&1");
  EXPECT_EQ(inherited.status, 0) << inherited.text;
}

TEST_F(PluginFile, IsNotNeededToCheckCodecsWithOptionsOfSchemes) {
  for (const char* text : {"topk:decay=0.5", "qsgd:reduction=requantise"}) {
    const Result result = Codec(std::string("check ") + text);
    EXPECT_EQ(result.status, 0) << result.text;
  }
  EXPECT_EQ(Codec("check topk:foo=1").status, 2);
}

TEST_F(PluginFile, WithoutAnEndIsRefused) {
  ASSERT_EQ(mkfifo(Object().c_str(), 0600), 0);
  EXPECT_NE(Codec("list --plugin=" + Object()).text.find("allowed: a plain file"),
            std::string::npos);
}

TEST_F(PluginFile, OfAnotherInterfaceIsRefused) {
  ASSERT_EQ(Compile(std::string(kMine) + "#undef LEGACY_PLUGIN_INTERFACE\n").status, 0);
  std::string text = kMine;
  text.insert(text.find("struct"),
              "#undef LEGACY_PLUGIN_INTERFACE\n#define LEGACY_PLUGIN_INTERFACE \"0.0 old\"\n");
  const Result compiled = Compile(text);
  ASSERT_EQ(compiled.status, 0) << compiled.text;
  const Result result = Codec("check half --plugin=" + Object());
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("interface: got '0.0 old'; allowed: "), std::string::npos)
      << result.text;
}

TEST_F(PluginFile, ThatIsNoPluginIsRefused) {
  std::ofstream(Object()) << "text";
  EXPECT_NE(Codec("list --plugin=" + Object()).text.find("cannot be loaded"), std::string::npos);
  ASSERT_EQ(Compile("int x;").status, 0);
  EXPECT_NE(Codec("list --plugin=" + Object()).text.find("allowed: a plugin"), std::string::npos);
  EXPECT_NE(Codec("list --plugin=/nowhere.so").text.find("got '/nowhere.so'; allowed: a file"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::plugins_test
