// Command lines: help, version, and messages about wrong ones.
#include "base/programs/arguments.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <sstream>

namespace legacy::arguments_test {
namespace {

class Arguments : public ::testing::Test {
 protected:
  Arguments() : app_("What it is for.", "legacy-test") {
    PrepareArguments(app_);
    app_.add_option("--bandwidth", bandwidth_, "a|b")->type_name("RATE")->group("Network");
    app_.add_flag("--quiet", quiet_, "print nothing");
    CLI::App* sub = app_.add_subcommand("show", "a part");
    sub->add_option("--colour", colour_, "of it");
    app_.require_subcommand(0, 1);
  }

  // Returns the exit status, -1 if the program continues; out_ and err_ keep what was printed.
  int Parse(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = ParseArguments(app_, arguments).value_or(-1);
    std::fflush(stdout);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return status;
  }

  CLI::App app_;
  std::string bandwidth_, colour_, out_, err_;
  bool quiet_ = false;
};

TEST_F(Arguments, AreReadInTheirOrder) {
  EXPECT_EQ(Parse({"--bandwidth", "1Gbps", "--quiet", "show", "--colour=red"}), -1);
  EXPECT_EQ(bandwidth_, "1Gbps");
  EXPECT_EQ(colour_, "red");
  EXPECT_TRUE(quiet_);
}

// They are written to files and pictures that are UTF-8.
TEST_F(Arguments, AreUtf8) {
  EXPECT_EQ(Parse({"show", "--colour=caf\xC3\xA9"}), -1);
  EXPECT_EQ(colour_, "caf\xC3\xA9");
  EXPECT_EQ(Parse({"show", "--colour=caf\xE9"}), kRefused);
  EXPECT_EQ(err_, "legacy-test: argument 2: bytes that are no text; allowed: UTF-8\n");
}

TEST_F(Arguments, VersionNamesTheProgram) {
  EXPECT_EQ(Parse({"--version"}), 0);
  EXPECT_EQ(out_, "legacy-test " + VersionText() + "\n");
  EXPECT_NE(VersionText().find('.'), std::string::npos);
}

TEST_F(Arguments, ExamplesAreThoseOfTheReader) {
  app_.footer("Examples:\n  legacy-test --quiet\n  legacy-test show | legacy-other x\n  legacy");
  setenv("LEGACY_LAUNCHER", "./waf --run", 1);
  EXPECT_EQ(Parse({"--help"}), 0);
  EXPECT_NE(out_.find("Usage: ./waf --run legacy-test "), std::string::npos) << out_;
  EXPECT_NE(
      out_.find("Examples:\n  ./waf --run legacy-test --quiet\n  ./waf --run legacy-test show "
                "| legacy-other x\n  legacy\n"),
      std::string::npos)
      << out_;
  EXPECT_EQ(Parse({"--zzz"}), kRefused);
  EXPECT_NE(err_.find("\n./waf --run legacy-test --help lists the options\n"), std::string::npos)
      << err_;
  unsetenv("LEGACY_LAUNCHER");
}

TEST_F(Arguments, HelpFitsTheTerminal) {
  const std::string words =
      "what this says is longer than a terminal of eighty columns has room "
      "for, so that it stands in several lines";
  app_.add_option("--long", colour_, words)->type_name("VALUE");
  app_.add_subcommand("other", words);
  app_.footer(words);
  app_.description(words);
  setenv("COLUMNS", "80", 1);
  EXPECT_EQ(Parse({"--help"}), 0);
  EXPECT_EQ(Parse({"--" + std::string(30, 'x') + words}), kRefused);
  const std::string message = err_;
  EXPECT_EQ(Parse({"--help"}), 0);
  unsetenv("COLUMNS");
  std::istringstream lines(out_ + message);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  // If there is no terminal, each description is one line.
  EXPECT_EQ(Parse({"--help"}), 0);
  EXPECT_NE(out_.find("--long VALUE                      " + words + "\n"), std::string::npos)
      << out_;
}

TEST_F(Arguments, UnknownOptionsNameTheNearest) {
  EXPECT_EQ(Parse({"--bandwith=1Gbps"}), kRefused);
  EXPECT_NE(err_.find("legacy-test: unknown option '--bandwith'; did you mean --bandwidth?\n"),
            std::string::npos)
      << err_;
  EXPECT_EQ(Parse({"show", "--color=red"}), kRefused);
  EXPECT_NE(err_.find("did you mean --colour?"), std::string::npos) << err_;
  EXPECT_EQ(Parse({"--zzz"}), kRefused);
  EXPECT_EQ(err_.find("did you mean"), std::string::npos) << err_;
  EXPECT_EQ(Parse({"elsewhere"}), kRefused);
  EXPECT_NE(err_.find("unexpected argument 'elsewhere'"), std::string::npos) << err_;
  EXPECT_EQ(Parse({"--bandwidth"}), kRefused);  // without a value
  EXPECT_EQ(err_.rfind("legacy-test: ", 0), 0u) << err_;
}

TEST_F(Arguments, RareOptionsAreListedWhereAllAreAskedFor) {
  std::string mtu;
  app_.add_option("--mtu", mtu, "bytes of a packet")->group(HelpGroup("Network", false));
  EXPECT_EQ(Parse({"--help"}), 0);
  EXPECT_NE(out_.find("--bandwidth"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("--mtu"), std::string::npos) << out_;
  EXPECT_NE(out_.find("--help=all lists all options, 1 more.\n"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("\n\n\n"), std::string::npos) << out_;
  EXPECT_EQ(Parse({"--help=all"}), 0);
  EXPECT_NE(out_.find("Network, rarely used:\n  --mtu"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("1 more"), std::string::npos) << out_;
  EXPECT_EQ(Parse({"--help-markdown"}), 0);
  EXPECT_NE(out_.find("## Network, rarely used\n"), std::string::npos) << out_;
  EXPECT_EQ(Parse({"--mtu=9000"}), -1);
}

TEST_F(Arguments, UnknownSubcommandsNameTheNearest) {
  EXPECT_EQ(Parse({"shopw"}), kRefused);
  EXPECT_NE(err_.find("unexpected argument 'shopw'; did you mean show?"), std::string::npos)
      << err_;
  app_.require_subcommand(1);
  EXPECT_EQ(Parse({"shopw"}), kRefused);
  EXPECT_NE(err_.find("subcommand: got 'shopw'; did you mean show?; allowed: show\n"),
            std::string::npos)
      << err_;
  EXPECT_EQ(Parse({"--quiet"}), kRefused);
  EXPECT_NE(err_.find("a subcommand is needed: show\n"), std::string::npos) << err_;
}

TEST_F(Arguments, AreListedForHandbookAndShells) {
  EXPECT_EQ(Parse({"--help-markdown"}), 0);
  EXPECT_NE(out_.find("## Network\n\n| option | value | what it does |\n|---|---|---|\n"
                      "| `--bandwidth` | RATE | a\\|b |\n"),
            std::string::npos)
      << out_;
  EXPECT_NE(out_.find("## legacy-test show"), std::string::npos) << out_;
  EXPECT_EQ(Parse({"--complete"}), 0);
  for (const char* word : {"--bandwidth\n", "--quiet\n", "show\n", "--colour\n", "--help\n"}) {
    EXPECT_NE(out_.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(out_.find("--complete"), std::string::npos);
}

}  // namespace
}  // namespace legacy::arguments_test
