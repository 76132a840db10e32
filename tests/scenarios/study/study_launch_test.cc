// Launchers: shares from the environment, Slurm's scripts with a fake scheduler that runs them, and
// a real mpirun.
#include <fstream>

#include "base/error.h"
#include "scenarios/study/launch.h"
#include "tests/message_of.h"
#include "tests/scenarios/study/study_running.h"

namespace legacy::study_launch_test {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Share> ShareOf(const Variables& variables) {
  return ShareOfEnvironment([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

void ExpectShare(const Variables& variables, int64_t index, int64_t count) {
  const std::optional<Share> share = ShareOf(variables);
  ASSERT_TRUE(share.has_value());
  EXPECT_EQ(share->index, index);
  EXPECT_EQ(share->count, count);
}

TEST(StudyShares, ComeFromWhoeverStartedTheProcess) {
  EXPECT_FALSE(ShareOf({}).has_value());
  ExpectShare({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}}, 2, 3);
  ExpectShare({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, 0, 4);
  ExpectShare({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}, 1, 4);
  // A batch script has a rank, but is not part of a step of ranks.
  EXPECT_FALSE(ShareOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).has_value());
  const Variables array = {{"SLURM_ARRAY_TASK_ID", "5"},
                           {"SLURM_ARRAY_TASK_COUNT", "3"},
                           {"SLURM_ARRAY_TASK_MIN", "1"},
                           {"SLURM_ARRAY_TASK_STEP", "2"}};
  ExpectShare(array, 2, 3);
  Variables both = array;
  both["SLURM_PROCID"] = "1";
  both["SLURM_STEP_NUM_TASKS"] = "4";
  ExpectShare(both, 9, 12);
}

TEST(StudyShares, RefuseWhatIsNoShare) {
  EXPECT_THROW(ShareOf({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}), Error);
  EXPECT_THROW(ShareOf({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}), Error);
  // An array has only tasks 3 and 7: with two tasks, the place of task 7 would be 5.
  EXPECT_THROW(ShareOf({{"SLURM_ARRAY_TASK_ID", "7"},
                        {"SLURM_ARRAY_TASK_COUNT", "2"},
                        {"SLURM_ARRAY_TASK_MIN", "3"},
                        {"SLURM_ARRAY_TASK_STEP", "1"}}),
               Error);
}

// Writes a fake scheduler into a folder. Its sbatch prints a number and runs the script's tasks,
// those of the last script in the background; its queue is empty once they have ended.
void WriteScheduler(const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream(folder / "sbatch") << R"(#!/bin/sh
for script in "$@"; do :; done
echo "$*" >>"$SUBMITTED"
last=$(sed -n 's/^#SBATCH --array=1-//p' "$script")
tasks() {
  for task in $(seq 1 "${last:-1}"); do
    SLURM_ARRAY_TASK_ID=$task sh "$script"
  done
  rm -f "$SUBMITTED.queue"
}
echo waiting >"$SUBMITTED.queue"
(
  exec >>"$SUBMITTED.log" 2>&1
  if [ "$script" = collect.sbatch ]; then tasks & else tasks; fi
)
wc -l <"$SUBMITTED"
)";
  std::ofstream(folder / "squeue") << "#!/bin/sh\ncat \"$SUBMITTED.queue\" 2>/dev/null || true\n";
  for (const char* program : {"sbatch", "squeue"}) {
    fs::permissions(folder / program, fs::perms::owner_exec, fs::perm_options::add);
  }
}

TEST_F(StudyRunning, SlurmRunsTheSameStudy) {
  RunWhole("whole");
  WriteScheduler(folder_ / "bin");
  const Result result = Shell("SUBMITTED=" + In("submitted") + " PATH=" + In("bin") + ":$PATH " +
                              Line({"run", Definition(), "--out=" + In("a"), "--launcher=slurm",
                                    "--jobs=3", "--slurm-args=--partition=long --time=10:00"}) +
                              " 2>&1");
  ASSERT_EQ(result.status, 0) << result.text << Read(In("submitted.log"));
  EXPECT_EQ(Read(In("submitted")),
            "--parsable trainings.sbatch\n"
            "--parsable --dependency=afterany:1 points.sbatch\n"
            "--parsable --dependency=afterany:2 collect.sbatch\n");
  const std::string script = Read(In("a") + "/slurm/points.sbatch");
  EXPECT_NE(script.find("#SBATCH --partition=long\n#SBATCH --time=10:00\n"), std::string::npos);
  EXPECT_EQ(Database("a"), Database("whole"));
}

// Text after a line break would be a command of the script.
TEST_F(StudyRunning, SlurmScriptsHoldNoLinesOfOthers) {
  LaunchOptions options;
  options.program = "legacy-study";
  options.study = folder_ / "study";
  options.trainings = 1;
  WriteSlurmScripts(options);
  for (const char* name : {"a\ntouch pwned", "a\" b", "a\\b", "a\rb"}) {
    options.study = folder_ / name;
    EXPECT_NE(MessageOf([&] { WriteSlurmScripts(options); }).find("--out: got"), std::string::npos)
        << name;
  }
  options.study = folder_ / "study";
  options.arguments = {"--time=1\ntouch pwned"};
  EXPECT_NE(MessageOf([&] { WriteSlurmScripts(options); }).find("--slurm-args: got"),
            std::string::npos);
}

TEST_F(StudyRunning, MpiRunsTheSameStudy) {
  if (Shell("mpirun --version 2>/dev/null").status != 0) GTEST_SKIP() << "there is no mpirun";
  RunWhole("whole");
  const std::string root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";
  const Result result = Shell(root +
                              Line({"run", Definition(), "--out=" + In("a"), "--launcher=mpi",
                                    "--jobs=3", "--mpi-args=--oversubscribe"}) +
                              " 2>&1");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_EQ(Database("a"), Database("whole"));
  // Every rank wrote a journal with part of the points.
  int journals = 0;
  for (const auto& entry : fs::directory_iterator(In("a") + "/journal")) {
    journals += Read(entry.path()).find("\"point\"") != std::string::npos;
  }
  EXPECT_EQ(journals, 3);
}

}  // namespace
}  // namespace legacy::study_launch_test