// legacy-federated as users call it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/programs.h"

namespace legacy::federated_program_test {
namespace {

Result Call(const std::string& arguments) {
  return Shell(std::string(LEGACY_FEDERATED_PROGRAM) + " " + arguments + " 2>&1");
}

TEST(FederatedProgram, PlansAndWritesFiles) {
  const std::string folder = ::testing::TempDir() + "federated-program";
  std::filesystem::remove_all(folder);
  const Result result =
      Call("plan --elements=1e5 --clients=30 --rounds=5 --tasks=on --out=" + folder);
  EXPECT_EQ(result.status, 0) << result.text;
  for (const char* part : {"5 of 5 versions", "Rounds (parts", "Clients by group", "decile",
                           "Round ", "A round waits for", "Remedies", "half the bytes"}) {
    EXPECT_NE(result.text.find(part), std::string::npos) << part;
  }
  for (const char* file : {"rounds.csv", "tasks.csv", "clients.csv", "links.csv", "gantt.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + file)) << file;
  }
  const std::string page = Read(folder + "/index.html");
  for (const char* part : {"\"verdict\":\"A round waits for", "Plan of 30 clients, 5 versions",
                           "\"pictures\":[\"gantt.svg\"]", "\"tasks.csv\"", "half the bytes",
                           "[\"elements\",\"1e5\"]"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const std::string rounds = Read(folder + "/rounds.csv");
  const Result again = Call("plan --elements=1e5 --clients=30 --rounds=5 --out=" + folder);
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.text.find(", the median round.\n"), std::string::npos) << again.text;
  EXPECT_NE(
      again.text.find("picture: " + folder + "/gantt.svg\npage: " + folder + "/index.html\nnext: "),
      std::string::npos);
  EXPECT_NE(again.text.find("legacy-federated advise --clients=30\n"), std::string::npos);
  EXPECT_EQ(Read(folder + "/rounds.csv"), rounds);
}

TEST(FederatedProgram, EndsWithAStatusAndASentence) {
  const Result lost = Call("plan --elements=1e5 --dropout=1 --rounds=5 --remedies=off");
  EXPECT_EQ(lost.status, 4);
  EXPECT_NE(lost.text.find("stopped: version 1 does not come: of its tasks so far 1000 lost"),
            std::string::npos)
      << lost.text;
  const Result away = Call("plan --elements=1e5 --availability=nightly:chance=0");
  EXPECT_EQ(away.status, 4);
  EXPECT_NE(away.text.find("none will be again"), std::string::npos) << away.text;
  EXPECT_EQ(Call("plan").status, 2);
  EXPECT_NE(Call("plan").text.find("--elements: got 'nothing'"), std::string::npos);
  EXPECT_EQ(Call("plan --elemnts=3").status, 2);
  EXPECT_NE(Call("plan --elemnts=3").text.find("--elements"), std::string::npos);
  EXPECT_EQ(Call("--rounds=x").status, 2);
  EXPECT_EQ(Call("--round=3").status, 2);
  EXPECT_EQ(Call("plan --elements=1 --tasks=on").status, 2);
  EXPECT_EQ(Call("plan --elements=1 --out=/dev/null/x").status, 2);
}

#ifndef LEGACY_SANITIZED  // a sanitizer keeps freed memory
// Returns the largest memory of a plan for that many clients, in bytes.
double MemoryOf(int64_t clients) {
  const std::string command = std::string("exec ") + LEGACY_FEDERATED_PROGRAM +
                              " plan --elements=1e4 --client-seconds=1 --per-round=1% --rounds=2 "
                              "--remedies=off --chart=off --clients=" +
                              std::to_string(clients) + " >/dev/null";
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  rusage used = {};
  wait4(child, &status, 0, &used);
  EXPECT_EQ(status, 0);
  return 1024.0 * static_cast<double>(used.ru_maxrss);
}

// A plan takes the memory that it announces before it begins: 1.7 KB a client, a million in 1.7 GB.
TEST(FederatedProgram, MemoryIsInProportionToTheClients) {
  EXPECT_LE(MemoryOf(100'000) - MemoryOf(1000), 99'000 * 1700.0);
}
#endif

TEST(FederatedProgram, HelpExplains) {
  const Result help = Call("plan --help");
  EXPECT_EQ(help.status, 0);
  for (const char* part : {"--over-select", "Examples:", "Exit status", "--population"}) {
    EXPECT_NE(help.text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(Call("population --help").status, 0);
  for (const std::string command : {"", "replay "}) {
    const Result run = Call(command + "--help");
    EXPECT_EQ(run.status, 0);
    for (const char* part : {"--population", "--device-profile", "Examples:", "Exit status"}) {
      EXPECT_NE(run.text.find(part), std::string::npos) << part;
    }
  }
}

TEST(FederatedProgram, ShowsPopulations) {
  const std::string svg = ::testing::TempDir() + "federated-program.svg";
  const Result result =
      Call("population --population=phones --clients=50 --availability=sessions --svg=" + svg);
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("Available clients over a day"), std::string::npos);
  EXPECT_NE(Read(svg).find("</svg>"), std::string::npos);
  EXPECT_EQ(Call("population --clients=3 --csv=-").text.substr(0, 20), "client,group,region,");
}

}  // namespace
}  // namespace legacy::federated_program_test
