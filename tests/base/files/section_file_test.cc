#include "base/files/section_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/files/whole_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A folder for this test only, removed at its end.
class SectionFileTest : public testing::Test {
 protected:
  SectionFileTest()
      : folder_(fs::path(testing::TempDir()) / ("sections" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SectionFileTest() override { fs::remove_all(folder_); }

  void Write(const std::string& first) const {
    SectionWriter out(folder_ / "state");
    out.Begin("first");
    out.Write(Bytes(first));
    out.Write(Bytes("+"));
    out.Begin("empty");
    out.Begin("last");
    out.Write(Bytes("z"));
    out.Finish();
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      files.push_back(entry.path().filename());
    }
    return files;
  }

  const fs::path folder_;
};

TEST_F(SectionFileTest, GivesBackWhatWasWritten) {
  Write("abc");
  const SectionFile file(folder_ / "state");
  EXPECT_EQ(Text(file.Get("first")), "abc+");
  EXPECT_EQ(Text(file.Get("empty")), "");
  EXPECT_EQ(Text(file.Get("last")), "z");
  EXPECT_FALSE(file.Has("other"));
  EXPECT_THROW(file.Get("other"), Error);
  EXPECT_EQ(Files(), std::vector<std::string>{"state"});
}

TEST_F(SectionFileTest, RefusesEveryCutAndEveryChangedByte) {
  Write("abc");
  const std::string whole = ReadWholeFile(folder_ / "state");
  ASSERT_EQ(ReadSections(Bytes(whole), "x").size(), 3u);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(ReadSections(Bytes(whole).first(length), "x"), Error) << length;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    EXPECT_THROW(ReadSections(Bytes(changed), "x"), Error) << i;
  }
  EXPECT_THROW(ReadSections(Bytes(whole + "x"), "x"), Error);
}

TEST_F(SectionFileTest, KeepsTheFileBeforeUntilTheNextIsWhole) {
  Write("before");
  {
    SectionWriter out(folder_ / "state");
    out.Begin("first");
    out.Write(Bytes("half"));
  }
  EXPECT_EQ(Text(SectionFile(folder_ / "state").Get("first")), "before+");
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(SectionFileTest, KeepsTheFileBeforeWhereTheDiskIsFull) {
  Write("before");
  // A limit on the size of files makes writes fail as a full disk does, in the middle of a file.
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small = {size_t{1} << 16, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    Write(std::string(size_t{1} << 18, 'x'));
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("state: cannot be written: "), std::string::npos) << message;
  EXPECT_EQ(Text(SectionFile(folder_ / "state").Get("first")), "before+");
  EXPECT_EQ(Files().size(), 1u);
  EXPECT_THROW(SectionWriter(folder_ / "none" / "state"), Error);
}

}  // namespace
}  // namespace legacy
