#include "scenarios/codec/message_files.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "compress/gradients/gradients.h"
#include "scenarios/codec/codec_run.h"
#include "scenarios/codec/layer_list.h"
#include "tests/codec/codec_testing.h"
#include "tests/message_of.h"

namespace legacy::message_files_test {
namespace {

using MessageFiles = CodecFiles;

constexpr const char* kShape = "20x30";

// One worker's first step, decoded by the exchange that encoded it.
std::vector<float> Exchanged(const Scheme& scheme, const Unit& unit, const UnitStep& context,
                             std::span<const float> gradient) {
  const std::unique_ptr<Exchange> exchange = scheme.Open(unit, 1);
  exchange->Begin(context);
  for (bool first = true; exchange->NextCall(); first = false) {
    const Message message = exchange->Encode(0, first ? gradient : std::span<const float>());
    exchange->Accumulate(0, message.bytes);
    exchange->FinishCall();
  }
  std::vector<float> mean(gradient.size());
  exchange->Mean(mean);
  return mean;
}

class Written {
 public:
  Written(const std::string& name, const std::string& path) : choice_(ParseCodec(name)) {
    bool feedback = false;
    scheme_ = OpenScheme(choice_, std::nullopt, &feedback);
    GradientSource source(Drawn("laplace", 1, 1, kShape));
    RunOptions options;
    options.first_step = 3;
    options.seed = 9;
    options.repeats = 1;
    calls_ = RunCodec(choice_, options, source).messages.size();
    WriteMessages(RunCodec(choice_, options, source).messages, path);
  }

  const Scheme& scheme() const { return *scheme_; }
  size_t calls() const { return calls_; }
  UnitStep Context() const {
    UnitStep context;
    context.info.seed = 9;
    context.info.step = 3;
    context.info.learning_rate = 1;
    context.parameter = choice_.parameter;
    return context;
  }

 private:
  CodecChoice choice_;
  std::unique_ptr<Scheme> scheme_;
  size_t calls_ = 0;
};

const Unit kUnit = OneLayer(ParseShape(kShape, "shape")).front();

// For every codec and scheme, reading the files gives the exchange's result bit for bit.
TEST_F(MessageFiles, EverySchemeComesBack) {
  const std::vector<float> gradient = DrawGradient("laplace:n=600");
  for (const std::string& name : SchemeNames()) {
    const std::string path = Path("message-" + name);
    const Written written(name, path);
    if (name == "dynamiq") {  // sums that hops encode again are in no worker's message
      EXPECT_THROW(ReadMessages(written.scheme(), kUnit, written.Context(), path), Error);
      continue;
    }
    const auto values = ReadMessages(written.scheme(), kUnit, written.Context(), path);
    EXPECT_EQ(values, Exchanged(written.scheme(), kUnit, written.Context(), gradient)) << name;
  }
}

// The files are the messages and nothing else.
TEST_F(MessageFiles, BytesAreAsTheyAreSent) {
  const std::string path = Path("message");
  const Written written("topk@10%", path);
  ASSERT_EQ(written.calls(), 1u);
  const std::string bytes = ReadWholeFile(path);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), *written.scheme().MessageBytes(kUnit, 0.1));
  EXPECT_EQ(ReadHeader(std::as_bytes(std::span(bytes))).count, 60u);
  const Written calls("ar-topk@10%", path);
  ASSERT_EQ(calls.calls(), 2u);
  EXPECT_TRUE(std::filesystem::exists(path + ".2"));
}

// Files that are cut, longer, flipped or of another shape are refused with the file's name, or give
// other finite values.
TEST_F(MessageFiles, HostileFilesAreRefused) {
  for (const std::string& name : SchemeNames()) {
    if (name == "dynamiq") continue;  // refuses all files
    const std::string path = Path("message-" + name);
    const Written written(name, path);
    const std::string last =
        written.calls() > 1 ? path + "." + std::to_string(written.calls()) : path;
    const std::string good = ReadWholeFile(last);
    const auto says = [&](const Unit& unit) {
      return MessageOf([&] {
        for (const float x : ReadMessages(written.scheme(), unit, written.Context(), path)) {
          ASSERT_TRUE(std::isfinite(x)) << name;
        }
      });
    };
    const std::string file = std::filesystem::path(last).filename().string();
    WriteFile(file, good.substr(0, good.size() - 1));
    EXPECT_NE(says(kUnit).find(last), std::string::npos) << name;
    WriteFile(file, good + "x");
    EXPECT_NE(says(kUnit).find(last), std::string::npos) << name;
    WriteFile(file, "");
    EXPECT_NE(says(kUnit).find(last), std::string::npos) << name;
    for (size_t at = 0; at < good.size(); at += 1 + good.size() / 12) {
      std::string flipped = good;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x41);
      WriteFile(file, flipped);
      says(kUnit);  // no crash, only finite values
    }
    WriteFile(file, good);
    EXPECT_EQ(says(kUnit), "no error") << name;
    EXPECT_NE(says(OneLayer({7, 7}).front()).find(path), std::string::npos) << name;
    std::filesystem::remove(last);
    EXPECT_EQ(says(kUnit), last + ": cannot be read: No such file or directory") << name;
  }
}

TEST_F(MessageFiles, FloatsAreRaw) {
  const std::vector<float> values = {1.5f, -0.0f, 3e-39f};
  WriteFloats(values, Path("values"));
  const std::string bytes = ReadWholeFile(Path("values"));
  ASSERT_EQ(bytes.size(), 12u);
  EXPECT_EQ(std::memcmp(bytes.data(), values.data(), 12), 0);
}

}  // namespace
}  // namespace legacy::message_files_test