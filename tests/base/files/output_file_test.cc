// Targets of a file to be written: nothing, files, links, pipes, devices, full disks.
#include "base/files/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files/own_file.h"
#include "base/files/part_file.h"
#include "base/files/whole_file.h"
#include "base/programs/program.h"
#include "tests/message_of.h"

namespace legacy::output_file_test {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("legacy-files-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Path(const std::string& name) const { return folder_ / name; }
  size_t Count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

// While a FullDisk exists, this process cannot write a byte to files, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none = {0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST_F(Files, AreReplacedWhole) {
  WriteWholeFile(Path("a"), "one");
  WriteWholeFile(Path("a"), std::string_view("t\0o", 3));
  EXPECT_EQ(ReadWholeFile(Path("a")), std::string("t\0o", 3));
  EXPECT_EQ(Count(), 1u);
}

TEST_F(Files, LinksAreFollowedAndKept) {
  fs::create_directory(Path("b"));
  fs::create_symlink("b/file", Path("link"));
  fs::create_symlink(Path("link"), Path("second"));
  WriteWholeFile(Path("second"), "new");  // the target does not exist yet
  WriteWholeFile(Path("link"), "newer");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_TRUE(fs::is_symlink(Path("second")));
  EXPECT_EQ(ReadWholeFile(Path("b/file")), "newer");
  fs::create_symlink("circle", Path("circle"));
  EXPECT_EQ(MessageOf([&] { WriteWholeFile(Path("circle"), ""); }),
            Path("circle").string() + ": cannot be written: Too many levels of symbolic links");
}

TEST_F(Files, PipesAreWrittenTo) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::ifstream in(Path("pipe"));
    in >> got;
  });
  WriteWholeFile(Path("pipe"), "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(Files, DevicesStayDevices) {
  EXPECT_EQ(MessageOf([] { WriteWholeFile("/dev/full", "x"); }),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_FALSE(MayReplace("/dev/full"));
  fs::create_symlink("/dev/null", Path("nowhere"));
  WriteWholeFile(Path("nowhere"), "x");
  EXPECT_TRUE(fs::is_symlink(Path("nowhere")));
}

TEST_F(Files, AFullDiskLeavesOldFilesAndNoEmptyOnes) {
  WriteWholeFile(Path("old"), "old");
  {
    const FullDisk full;
    for (const char* name : {"old", "new"}) {
      EXPECT_EQ(MessageOf([&] { WriteWholeFile(Path(name), "x"); }),
                Path(name).string() + ": cannot be written: File too large");
    }
    OutputFile file(Path("grows"));
    EXPECT_EQ(MessageOf([&] { file.Write("x"); }),
              Path("grows").string() + ": cannot be written: File too large");
  }
  EXPECT_EQ(ReadWholeFile(Path("old")), "old");
  EXPECT_EQ(Count(), 1u);
}

// A process that is killed while it writes leaves its temporary file to whoever writes next.
TEST_F(Files, WhatKilledWritersLeftIsRemoved) {
  std::array<int, 2> written;
  ASSERT_EQ(pipe(written.data()), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    PartFile part(Path("a"));
    part.file().Write("half");
    const std::string name = part.path().string();
    (void)!write(written[1], name.data(), name.size());
    pause();
  }
  std::string name(1000, ' ');
  name.resize(static_cast<size_t>(std::max<ssize_t>(0, read(written[0], name.data(), 1000))));
  const fs::path left = name;
  ASSERT_TRUE(left.filename().string().starts_with("a." + std::to_string(writer) + "-"));
  WriteWholeFile(Path("a"), "whole");
  EXPECT_EQ(ReadWholeFile(left), "half");  // its writer is still running
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  EXPECT_TRUE(fs::exists(left));
  WriteWholeFile(Path("a"), "whole again");
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(ReadWholeFile(Path("a")), "whole again");
  close(written[0]);
  close(written[1]);
}

TEST_F(Files, NamesThatAreNotTemporaryStay) {
  const std::vector<std::string> names = {"a.tmp",     "a.1.tmp",        "a.1-.tmp",   "a.1-0",
                                          "b.1-0.tmp", "a.json.1-0.tmp", "a.x1-0.tmp", ".1-0.tmp"};
  for (const std::string& name : names) OutputFile(Path(name)).Write("mine");
  OutputFile(Path("a.1-0.tmp")).Write("of a process with a number that lives");
  WriteWholeFile(Path("a"), "");
  for (const std::string& name : names) EXPECT_EQ(ReadWholeFile(Path(name)), "mine") << name;
  EXPECT_EQ(Count(), names.size() + 1);
}

TEST_F(Files, ThreadsReplaceOneFile) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) WriteWholeFile(Path("a"), std::string(1000, '0' + thread));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadWholeFile(Path("a")).size(), 1000u);
  EXPECT_EQ(Count(), 1u);
}

TEST_F(Files, AppendingKeepsTheContent) {
  OutputFile(Path("a")).Write("one ");
  OutputFile(Path("a"), OutputFile::Mode::kAppend).Write("two");
  EXPECT_EQ(ReadWholeFile(Path("a")), "one two");
  EXPECT_EQ(MessageOf([&] { OutputFile(Path("a"), OutputFile::Mode::kCreate); }),
            Path("a").string() + ": cannot be written: File exists");
  OutputFile(Path("a")).Write("3");
  EXPECT_EQ(ReadWholeFile(Path("a")), "3");
}

TEST_F(Files, ErrorsGiveTheReason) {
  EXPECT_EQ(MessageOf([&] { ReadWholeFile(Path("none")); }),
            Path("none").string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(MessageOf([&] { ReadWholeFile(folder_); }),
            folder_.string() + ": cannot be read: Is a directory");
  EXPECT_EQ(MessageOf([&] { WriteWholeFile(Path("none/a"), ""); }),
            Path("none/a").string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(MessageOf([&] { WriteWholeFile(folder_, ""); }),
            folder_.string() + ": cannot be written: Is a directory");
  WriteWholeFile(Path("large"), std::string(200, 'x'));
  EXPECT_EQ(MessageOf([&] { ReadWholeFile(Path("large"), 100); }),
            Path("large").string() + ": larger than 100 bytes");
}

TEST_F(Files, NobodyWaitsForWhatIsNoPlainFile) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);  // no process writes to it
  for (const fs::path& path : {Path("pipe"), fs::path("/dev/zero"), fs::path("/dev/null")}) {
    EXPECT_EQ(MessageOf([&] { ReadWholeFile(path); }),
              path.string() + ": cannot be read: it is no plain file");
  }
  // A pipe that a shell passes to a program is one of the program's own streams.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "through", 7), 7);
  close(ends[1]);
  EXPECT_EQ(ReadWholeFile("/dev/fd/" + std::to_string(ends[0])), "through");
  close(ends[0]);
}

TEST_F(Files, OfOursAreNoLinksAndNoPipes) {
  WriteWholeFile(Path("victim"), "precious");
  fs::create_symlink("victim", Path("link"));
  fs::create_symlink("nothing", Path("dangling"));
  fs::create_hard_link(Path("victim"), Path("second"));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  for (const auto mode : {OutputFile::Mode::kReplace, OutputFile::Mode::kAppend}) {
    for (const auto& [name, reason] : {std::pair("link", "it is a link"),
                                       {"dangling", "it is a link"},
                                       {"second", "it has a second name"},
                                       {"pipe", "it is no plain file"}}) {
      const std::string message = MessageOf([&, &name = name] { OutputFile(Path(name), mode); });
      EXPECT_NE(message.find(std::string(name) + ": cannot be written: " + reason),
                std::string::npos)
          << message;
    }
  }
  EXPECT_FALSE(fs::exists(Path("nothing")));
  EXPECT_EQ(ReadWholeFile(Path("victim")), "precious");
  ReplaceFile(Path("link"), "own");  // the link is replaced, and its target stays
  EXPECT_FALSE(fs::is_symlink(Path("link")));
  EXPECT_EQ(ReadWholeFile(Path("victim")), "precious");
}

TEST_F(Files, FoldersOfOursAreNoLinks) {
  fs::create_directory(Path("beside"));
  MakeFolderIn(folder_, "a/b");
  EXPECT_TRUE(fs::is_directory(Path("a/b")));
  fs::create_symlink(Path("beside"), Path("a/link"));
  for (const char* below : {"a/link", "a/link/b"}) {
    EXPECT_EQ(MessageOf([&] { MakeFolderIn(folder_, below); }),
              Path("a/link").string() + ": it is a link where the folder of a run would be");
  }
  EXPECT_TRUE(fs::is_empty(Path("beside")));
}

// Returns the status of a child process whose output goes to a device that is always full.
int StatusOnFullOutput(int own) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    _exit(ProgramStatus("test", [own] {
      std::fputs("a line\n", stdout);
      return own;
    }));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(Program, AFullOutputIsAnError) {
  EXPECT_EQ(StatusOnFullOutput(0), 1);
  EXPECT_EQ(StatusOnFullOutput(3), 3);
  EXPECT_EQ(ProgramStatus("test", [] { return 3; }), 3);
  EXPECT_EQ(ProgramStatus("test", []() -> int { throw std::runtime_error("x"); }), 1);
}

}  // namespace
}  // namespace legacy::output_file_test