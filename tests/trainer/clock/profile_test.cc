#include "trainer/clock/profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/number.h"
#include "compress/exchange.h"
#include "compress/kernel_costs.h"

namespace legacy::profile_test {
namespace {

// clang-format off
const char* const kGood = R"json({
  "name": "toy", "source": "datasheet (made up)", "launch_seconds": 1e-6,
  "operations": {"conv": {"flops_per_second": 1e9, "bytes_per_second": 2e9}},
  "kernels": {"copy": {"launch_seconds": 1e-6, "seconds_per_element": 1e-9}}})json";
// clang-format on

// Returns the message of the error that reading `json` throws.
std::string Complaint(const std::string& json) {
  try {
    ParseProfile(json, "toy.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  return text.replace(text.find(from), from.size(), to);
}

// docs/clock.md shows the table of compress/kernel_costs.h as it is.
TEST(KernelCosts, AreThoseOfTheHandbook) {
  std::ifstream handbook(LEGACY_CLOCK_HANDBOOK);
  std::vector<std::string> rows;
  bool table = false;
  for (std::string line; std::getline(handbook, line);) {
    if (line.starts_with("| kernel | launches of a set |")) {
      table = std::getline(handbook, line).good();  // the rule below the header
    } else if (table && line.starts_with("|")) {
      rows.push_back(line);
    } else {
      table = false;
    }
  }
  std::vector<std::string> expected;
  for (const KernelCost& cost : KernelCosts()) {
    expected.push_back("| `" + std::string(cost.name) + "` | " + std::to_string(cost.launches) +
                       " | " + FormatNumber(cost.bytes) + " | " + std::string(cost.what) + " |");
  }
  EXPECT_EQ(rows, expected);
}

TEST(Profile, PricesOperationsByTheSlowestOfThreeLimits) {
  const Profile profile = ParseProfile(kGood, "toy.json");
  EXPECT_DOUBLE_EQ(profile.OperationSeconds("conv", 10, 10), 1e-6);
  EXPECT_DOUBLE_EQ(profile.OperationSeconds("conv", 1e6, 10), 1e-3);
  EXPECT_DOUBLE_EQ(profile.OperationSeconds("conv", 10, 1e6), 5e-4);
  EXPECT_DOUBLE_EQ(profile.WorkSeconds({"copy", 1000, 3}), 2e-6);
  EXPECT_EQ(profile.WorkSeconds({"", 1000, 3}), 0);
}

TEST(Profile, ChargesTheSetsOfLaunchesThatItsDeviceMakes) {
  const Work work = {.kernel = "copy", .elements = 1000, .launches = 12, .sets = 2};
  Profile profile = ParseProfile(kGood, "toy.json");
  EXPECT_DOUBLE_EQ(profile.WorkSeconds(work), 3e-6);
  profile = ParseProfile(Replaced("\"name\"", "\"launches\": \"per-layer\", \"name\""), "toy.json");
  EXPECT_DOUBLE_EQ(profile.WorkSeconds(work), 13e-6);
  EXPECT_EQ(ParseProfile(FormatProfile(profile), "again").launches, Launches::kPerLayer);
}

TEST(Profile, NamesWhatIsNotPriced) {
  const Profile profile = ParseProfile(kGood, "toy.json");
  EXPECT_THROW(profile.OperationSeconds("lstm", 1, 1), Error);
  try {
    profile.WorkSeconds({"topk.encode", 1, 1});
    FAIL() << "priced";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "profile 'toy': kernel: got 'topk.encode'; allowed: copy");
  }
}

TEST(Profile, ErrorsNameFileAndKey) {
  EXPECT_EQ(Complaint(kGood), "no error");
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(Complaint("{"), "toy.json: byte ");
  has(Complaint("[]"), "toy.json: got '[]'; allowed: an object");
  has(Complaint(Replaced("\"name\"", "\"nam\"")), "toy.json: unknown key: got 'nam'");
  has(Complaint(Replaced("\"launch_seconds\": 1e-6,\n", "\n")), "missing key 'launch_seconds'");
  has(Complaint(Replaced("bytes_per_second", "bytes")),
      "toy.json: operations.conv: unknown key: got 'bytes'");
  has(Complaint(Replaced("1e9,", "0,")), "operations.conv: flops_per_second: got '0'");
  has(Complaint(Replaced("1e9,", "\"fast\",")), "allowed: above 0");
  has(Complaint(Replaced("1e-9", "-1e-9")), "kernels.copy: seconds_per_element");
  has(Complaint(Replaced("datasheet (made up)", "guessed")), "source: got 'guessed'");
  EXPECT_EQ(Complaint(Replaced("datasheet (made up)", "published (a paper)")), "no error");
  EXPECT_EQ(Complaint(Replaced("datasheet (made up)", "assumption (of ours)")), "no error");
  has(Complaint(Replaced("\"name\"", "\"launches\": \"none\", \"name\"")),
      "toy.json: launches: got 'none'; allowed: fused, per-layer");
}

TEST(Profile, ReadsBackItsOwnText) {
  const Profile profile = LoadProfile(kDefaultProfile);
  const Profile again = ParseProfile(FormatProfile(profile), "again");
  EXPECT_EQ(FormatProfile(again), FormatProfile(profile));
  EXPECT_EQ(again.operations.at("conv").flops_per_second,
            profile.operations.at("conv").flops_per_second);
}

// Every charge of codecs, schemes and policies has a row in that table
// (tests/compress/work_test.cc).
TEST(Profile, ShippedOnesPriceTheTableOfKernels) {
  for (const std::string& name : ProfileNames()) {
    const Profile profile = LoadProfile(name);
    for (const KernelCost& cost : KernelCosts()) {
      const std::string kernel(cost.name);
      ASSERT_TRUE(profile.kernels.contains(kernel)) << name << ": " << kernel;
      const bool free = kernel == "moved";  // free on a processor
      EXPECT_GT(profile.WorkSeconds({kernel, 1'000'000}) + (free ? 1 : 0), 0) << name << kernel;
    }
  }
}

// GraVAC's table 3, in ms: compression of the whole gradient to 10x and then to 1000x, and of the
// values that 10x kept.
TEST(Profile, GravacsAreWhatThePaperSays) {
  struct Published {
    const char* model;
    int64_t numel;
    double topk, sampled, redsync, randomk, randomk_levels;
  };
  for (const Published& p : {Published{"resnet101", 44549160, 606, 90, 33, 23, 14},
                             {"vgg16", 138357544, 181, 122, 101.4, 41.6, 31},
                             {"lstm", 66034000, 200, 88, 69.4, 56.4, 37.4}}) {
    const Profile profile = LoadProfile(std::string("gravac-v100-") + p.model);
    const auto ms = [&](const std::string& kernel, double elements) {
      return 1e3 * profile.WorkSeconds({kernel, static_cast<int64_t>(elements)});
    };
    const auto numel = static_cast<double>(p.numel);
    EXPECT_NEAR(2 * ms("topk.encode", numel), p.topk, 0.01 * p.topk) << p.model;
    EXPECT_NEAR(2 * ms("sampled.encode", numel), p.sampled, 0.01 * p.sampled) << p.model;
    EXPECT_NEAR(2 * ms("redsync.encode", numel), p.redsync, 0.01 * p.redsync) << p.model;
    const double values = ms("randomk.encode", 0.101 * numel);
    EXPECT_NEAR(2 * ms("randomk.draw", numel) + values, p.randomk, 0.01 * p.randomk) << p.model;
    EXPECT_NEAR(1.1 * ms("randomk.draw", numel) + values, p.randomk_levels, 0.01 * p.randomk)
        << p.model;
  }
}

TEST(Profile, ShippedOnesPriceEveryKernel) {
  const std::vector<std::string> names = ProfileNames();
  ASSERT_GE(names.size(), 3u);
  for (const std::string& name : names) {
    const Profile profile = LoadProfile(name);
    EXPECT_EQ(profile.name, name);
    const auto priced = [&](const WorkList& work, const std::string& what) {
      for (const Work& entry : work) {
        if (entry.kernel.empty() || entry.kernel == "moved") continue;  // free on a processor
        EXPECT_GT(profile.WorkSeconds({entry.kernel, 1000, 1}), 0) << name << " " << what;
      }
    };
    for (const std::string& text : SchemeNames()) {
      const bool inherent = MakeScheme(text)->Traits().needs_error_feedback;
      const auto scheme = MakeScheme(text, {.error_feedback = inherent});
      const Unit unit{.id = 0, .name = "u", .shape = {64, 64}, .offset = 0, .numel = 4096};
      const auto exchange = scheme->Open(unit, 1);
      const std::vector<float> ones(4096, 1.0f);
      exchange->Begin({.parameter = scheme->Parameter().fallback});
      for (bool first = true; const auto call = exchange->NextCall(); first = false) {
        priced(call->encode, text);
        priced(call->decode, text);
        const Message message = exchange->Encode(0, first ? ones : std::span<const float>());
        exchange->Accumulate(0, message.bytes);
        exchange->FinishCall();
      }
    }
    for (const char* kernel :
         {"copy", "accumulate", "histogram", "lgreco.solve", kOptimizerKernel}) {
      priced({{kernel, 1, 1}}, kernel);
    }
    for (const char* kind : {"conv", "linear", "batchnorm", "elementwise", "pool"}) {
      if (profile.device) continue;  // device_test.cc prices operations on devices
      EXPECT_GT(profile.OperationSeconds(kind, 1e6, 1e6), 0) << name << " " << kind;
    }
  }
  EXPECT_THROW(LoadProfile("no-such-device"), Error);
  EXPECT_THROW(LoadProfile("/nowhere/x.json"), Error);
}

}  // namespace
}  // namespace legacy::profile_test