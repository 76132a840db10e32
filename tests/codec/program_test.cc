// Whole-program runs of legacy-codec: checks what is printed and which files are left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/programs.h"

namespace legacy::program_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CodecProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) /
                 (std::string("legacy-codec-") + test->name() + "-" + std::to_string(getpid()));
    fs::create_directories(directory_);
    Write("gradient.f32", Values(600));
    std::ofstream(directory_ / "model.layers")
        << "conv.weight 4x3x5x5\nfc.weight 10x25\nfc.bias 50\n";
  }
  void TearDown() override { fs::remove_all(directory_); }

  static std::vector<float> Values(size_t n) {
    std::vector<float> values(n);
    for (size_t i = 0; i < n; ++i) {
      values[i] = std::sin(static_cast<float>(i * i)) / static_cast<float>(1 + i % 7);
    }
    return values;
  }
  void Write(const std::string& name, const std::vector<float>& values) const {
    std::ofstream(directory_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  // Returns standard output and error together.
  Result Run(const std::string& arguments) const {
    return Shell("cd " + directory_.string() + " && " LEGACY_CODEC_PROGRAM " " + arguments +
                 " 2>&1");
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }

  fs::path directory_;
};

TEST_F(CodecProgram, WithoutOptionsItTriesEveryCodec) {
  const Result result = Run("");
  ASSERT_EQ(result.status, 0) << result.text;
  for (const char* word : {"dense", "fp16", "topk@0.01", "ar-topk@0.01", "measured", "8 workers"}) {
    EXPECT_NE(result.text.find(word), std::string::npos) << result.text;
  }
  EXPECT_EQ(Files(), 2u);
}

// CSV and JSON hold the same rows, and nothing else reaches standard output.
TEST_F(CodecProgram, CsvAndJsonAgree) {
  const std::string line =
      "gradient.f32 --layers=model.layers --codec=topk:index=u32@5% --codec=fp16 --steps=2 "
      "--per=layer --quiet ";
  const Result json_run = Run(line + "--json=- --csv=rows.csv");
  ASSERT_EQ(json_run.status, 0) << json_run.text;
  const json rows = json::parse(json_run.text);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0]["codec"], "topk:index=u32");
  EXPECT_EQ(rows[0]["layer"], "conv.weight");
  EXPECT_EQ(rows[0]["payload_bytes"], 8 * 15);
  EXPECT_EQ(rows[5]["layer"], "fc.bias");
  EXPECT_EQ(rows[5]["message_bytes"], 16 + 2 * 50);
  const auto cells = CsvOf(directory_ / "rows.csv");
  ASSERT_EQ(cells.size(), 1 + rows.size());
  const std::vector<std::string>& header = cells[0];
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(cells[i + 1].size(), header.size());
    for (size_t field = 0; field < header.size(); ++field) {
      const json& value = rows[i][header[field]];
      if (value.is_number()) {
        EXPECT_EQ(std::stod(cells[i + 1][field]), value.get<double>()) << header[field];
      }
    }
  }
}

// Only measured times differ from run to run.
TEST_F(CodecProgram, FiguresAreTheSameEachTime) {
  const std::string line =
      "--generate=student-t:n=500 --codec=qsgd --codec=randomk --steps=3 --quiet --json=- ";
  const auto rows = [&](const std::string& more) {
    json parsed = json::parse(Run(line + more).text);
    for (json& row : parsed) {
      for (const char* key : {"encode_seconds", "encode_bytes_per_second", "decode_seconds",
                              "decode_bytes_per_second"}) {
        EXPECT_GT(row.at(std::string("measured_") + key), 0);
        row.erase(std::string("measured_") + key);
      }
    }
    return parsed;
  };
  EXPECT_EQ(rows(""), rows(""));
  EXPECT_NE(rows(""), rows("--seed=2"));
}

// For every codec, --out writes a message and --decode reads it back; the result is as far from the
// input as the report says.
TEST_F(CodecProgram, EveryCodecsMessageIsReadBack) {
  const Result all = Run("--json=- --quiet --generate=gaussian:n=10");
  ASSERT_EQ(all.status, 0) << all.text;
  for (const json& one : json::parse(all.text)) {
    const std::string codec = " --codec=" + one["codec"].get<std::string>();
    const Result written =
        Run("gradient.f32 --shape=20x30 --workers=1 --repeats=1 --step=5 --quiet --json=- "
            "--out=message" +
            codec);
    ASSERT_EQ(written.status, 0) << codec << written.text;
    const Result read = Run("--decode=message --shape=20x30 --step=5 --out=back.f32" + codec);
    if (one["codec"] == "dynamiq") {
      EXPECT_NE(read.text.find("not encoded again at every hop"), std::string::npos) << read.text;
      continue;
    }
    ASSERT_EQ(read.status, 0) << codec << read.text;
    const std::string sent = Read(directory_ / "gradient.f32");
    const std::string back = Read(directory_ / "back.f32");
    ASSERT_EQ(back.size(), sent.size()) << codec;
    double error = 0;
    double squared = 0;
    for (size_t i = 0; i < sent.size(); i += sizeof(float)) {
      float x = 0;
      float y = 0;
      std::memcpy(&x, sent.data() + i, sizeof x);
      std::memcpy(&y, back.data() + i, sizeof y);
      error += std::pow(double{x} - double{y}, 2);
      squared += double{x} * double{x};
    }
    const double reported = json::parse(written.text)[0]["relative_error"];
    EXPECT_NEAR(std::sqrt(error / squared), reported, 1e-9) << codec;
  }
}

TEST_F(CodecProgram, MistakesGiveOneClearMessage) {
  Write("nan.f32", {1, 2, std::numeric_limits<float>::quiet_NaN()});
  std::ofstream(directory_ / "odd.f32") << "12345";
  std::ofstream(directory_ / "bad.layers") << "a 3\nb 3 x 3\n";
  const size_t before = Files();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"odd.f32", "odd.f32: length: got '5 bytes'"},
      {"nan.f32", "nan.f32: value 2: got 'nan'"},
      {"missing.f32", "missing.f32: cannot be read"},
      {"gradient.f32 --shape=7", "a multiple of the 7"},
      {"gradient.f32 --shape=7x", "--shape: got '7x'"},
      {"gradient.f32 --layers=bad.layers", "bad.layers:2"},
      {"gradient.f32 --layers=missing", "missing: cannot be read"},
      {"gradient.f32 --shape=600 --layers=model.layers", "either this or --layers"},
      {"gradient.f32 --generate=gaussian", "got 2 sources"},
      {"gradient.f32 gradient.f32 --workers=3", "--workers: got '3'"},
      {"gradient.f32 --shape=300 --steps=3", "--steps: got '3'"},
      {"--steps=0", "--steps: got '0'"},
      {"--workers=0", "--workers: got '0'"},
      {"--workers=many", "--workers: got 'many'"},
      {"--repeats=0", "--repeats: got '0'"},
      {"--seed=-1", "--seed: got '-1'"},
      {"--codec=topkk", "randomk"},
      {"--codec=topk:indx=u32", "indx"},
      {"--codec=topk:index=u64", "u64"},
      {"--codec=topk@5", "5%"},
      {"--codec=topk@0.5.1", "topk: density: got '0.5.1'"},
      {"--codec=dense@3", "no parameter"},
      {"--codec=topk --parameter=3", "3%"},
      {"--codec=topk+fp16+fp16", "two"},
      {"--policy=best", "uniform"},
      {"--policy=uniform:x=1", "uniform"},
      {"--generate=cauchy", "student-t"},
      {"--generate=gaussian:n=-1", "gaussian: n: got '-1'"},
      {"--gradient=alexnet", "gradient: got 'alexnet'"},
      {"--error-feedback=maybe", "on, off, auto"},
      {"--collective=ring", "ring-allreduce"},
      {"--bandwidth=fast", "--bandwidth: got 'fast'"},
      {"--latency=-1us", "--latency: got '-1us'"},
      {"--per=worker", "codec, step, layer"},
      {"--csv=nowhere/out.csv", "--csv: got 'nowhere/out.csv'"},
      {"--csv=x --json=x", "a file of its own"},
      {"--out=message", "one --codec"},
      {"gradient.f32 --layers=model.layers --codec=topk --out=message", "one layer"},
      {"--decode=gradient.f32 --codec=topk --out=x", "--shape"},
      {"--decode=gradient.f32 --codec=topk --shape=10", "--out"},
      {"--decode=gradient.f32 --codec=topk --shape=10 --out=x", "gradient.f32: "},
      {"--decode=missing --codec=topk --shape=10 --out=x", "missing: cannot be read"},
      {"--decode=gradient.f32 --shape=10 --out=x", "one --codec"},
      {"list nothing", "topk"},
      {"list --document=missing.md", "missing.md"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 2) << arguments << "\n" << result.text;
    EXPECT_NE(result.text.find(expected), std::string::npos) << arguments << "\n" << result.text;
    EXPECT_EQ(std::count(result.text.begin(), result.text.end(), '\n'), 1) << result.text;
    EXPECT_EQ(Files(), before) << arguments;
  }
  EXPECT_EQ(Run("--no-such-option").status, 2);
  EXPECT_EQ(Run("--codec=").status, 2);
  EXPECT_EQ(Run("--help").status, 0);
}

TEST_F(CodecProgram, ListsMethodsByName) {
  const Result one = Run("list topk");
  EXPECT_EQ(one.status, 0);
  for (const char* word : {"density, 0 to 1, default 0.01", "all-gather", "paper: "}) {
    EXPECT_NE(one.text.find(word), std::string::npos) << one.text;
  }
  EXPECT_EQ(one.text.find("randomk"), std::string::npos);
  const Result all = Run("list");
  for (const char* word : {"randomk", "uniform", "student-t"}) {
    EXPECT_NE(all.text.find(word), std::string::npos);
  }
}

// The handbook's tables are what the program prints; `legacy-codec list
// --document=docs/compressors.md` writes them.
TEST_F(CodecProgram, TheHandbookListsEveryMethod) {
  fs::copy_file(LEGACY_COMPRESSORS, directory_ / "compressors.md");
  ASSERT_EQ(Run("list --document=compressors.md").status, 0);
  EXPECT_EQ(Read(directory_ / "compressors.md"), Read(LEGACY_COMPRESSORS));
}

// Every command of the handbook runs, in its order, on files like the handbook's.
TEST_F(CodecProgram, CommandsOfTheHandbookRun) {
  Write("gradient.f32", Values(20000));
  std::ofstream(directory_ / "model.layers")
      << "conv.weight 64x3x3x3\nfc.weight 10x1827\nfc.bias 2\n";
  std::istringstream handbook(Read(LEGACY_CODEC_HANDBOOK));
  const std::string start = "./waf --run legacy-codec";
  int commands = 0;
  for (std::string line; std::getline(handbook, line);) {
    if (line.rfind(start, 0) != 0) continue;
    const Result result = Run(line.substr(start.size()));
    EXPECT_EQ(result.status, 0) << line << "\n" << result.text;
    ++commands;
  }
  EXPECT_GE(commands, 5);
}

}  // namespace
}  // namespace legacy::program_test