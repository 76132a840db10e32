#include "scenarios/study/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/parse.h"
#include "base/programs/child.h"
#include "scenarios/study/shell.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr auto kQueueLook = std::chrono::seconds(3);  // time between two queries of the queue

// The environment variables of the rank and the number of ranks. Slurm also sets its own names in
// batch scripts, where nothing runs once for each rank, but it sets the size of a step only under
// srun.
struct RankNames {
  const char* rank;
  const char* size;
};
constexpr RankNames kRanks[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                {"PMI_RANK", "PMI_SIZE"},
                                {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

int64_t Number(const Environment& environment, const char* name, int64_t minimum, int64_t maximum) {
  return ParseInteger(environment(name), name, minimum, maximum);
}

std::optional<Share> RankShare(const Environment& environment) {
  for (const auto& [rank, size] : kRanks) {
    if (environment(rank) == nullptr || environment(size) == nullptr) continue;
    Share share;
    share.count = Number(environment, size, 1, 1'000'000);
    share.index = Number(environment, rank, 0, share.count - 1);
    return share;
  }
  return std::nullopt;
}

std::vector<std::string> WorkLine(const LaunchOptions& options, const std::string& phase) {
  std::vector<std::string> words = {options.program.string(), "work", options.study.string(),
                                    "--phase=" + phase};
  if (options.retry_failed) words.emplace_back("--retry-failed");
  return words;
}

// Returns a word for a line that begins with #SBATCH. Such lines have no escapes, so characters
// that would end the line or the word are refused.
const std::string& DirectiveWord(const std::string& what, const std::string& word, bool quoted) {
  const auto wrong = [&](unsigned char c) {
    return c < ' ' || c == 0x7f || (quoted && (c == '"' || c == '\\'));
  };
  if (std::ranges::none_of(word, wrong)) return word;
  std::string shown = word;
  std::ranges::replace_if(
      shown, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  throw Error(what, shown,
              quoted
                  ? "for Slurm, a path without line breaks and other control characters, \" and \\"
                  : "words without line breaks and other control characters");
}

// Returns the lines with which every batch script begins.
std::string BatchHead(const LaunchOptions& options, const std::string& job,
                      const std::string& log) {
  std::string text = fmt::format(
      "#!/bin/sh\n"
      "#SBATCH --job-name=legacy-{}\n"
      "#SBATCH --output=\"{}\"\n"
      "#SBATCH --chdir=\"{}\"\n",
      job, DirectiveWord("--out", (options.study / "slurm" / log).string(), true),
      DirectiveWord("current folder", fs::current_path().string(), true));
  for (const std::string& argument : options.arguments) {
    text += fmt::format("#SBATCH {}\n", DirectiveWord("--slurm-args", argument, false));
  }
  return text;
}

// Returns the script of a job array. Every task does its own share, so that single tasks can be run
// again by hand: sbatch --array=3,7 trainings.sbatch
std::string ArrayScript(const LaunchOptions& options, const std::string& phase, int64_t tasks) {
  return BatchHead(options, phase, phase + "-%a.log") +
         fmt::format("#SBATCH --array=1-{}\n\nexec {} --share=\"$SLURM_ARRAY_TASK_ID/{}\"\n", tasks,
                     ShellLine(WorkLine(options, phase)), tasks);
}

}  // namespace

std::optional<Share> ShareOfEnvironment(const Environment& environment) {
  const std::optional<Share> rank = RankShare(environment);
  if (environment("SLURM_ARRAY_TASK_COUNT") == nullptr) return rank;
  constexpr int64_t kMost = 1'000'000'000;
  const int64_t minimum = Number(environment, "SLURM_ARRAY_TASK_MIN", 0, kMost);
  const int64_t step = Number(environment, "SLURM_ARRAY_TASK_STEP", 1, kMost);
  const int64_t ranks = rank ? rank->count : 1;
  Share share;
  share.count = Number(environment, "SLURM_ARRAY_TASK_COUNT", 1, kMost) * ranks;
  const int64_t task = Number(environment, "SLURM_ARRAY_TASK_ID", minimum, kMost) - minimum;
  share.index = task / step * ranks + (rank ? rank->index : 0);
  if (share.index >= share.count) {
    throw Error("SLURM_ARRAY_TASK_ID", environment("SLURM_ARRAY_TASK_ID"),
                "the tasks of one array without gaps; for others give --share=I/N");
  }
  return share;
}

bool LaunchMpi(const LaunchOptions& options, const std::function<void()>& tick,
               const StopFlag& stop) {
  const fs::path log = options.study / "journal" / "mpi.log";
  fs::create_directories(log.parent_path());
  const auto phase = [&](const std::string& name, int64_t processes) {
    if (processes == 0) return true;
    std::vector<std::string> words = {"mpirun", "-n", std::to_string(processes)};
    words.insert(words.end(), options.arguments.begin(), options.arguments.end());
    const std::vector<std::string> work = WorkLine(options, name);
    words.insert(words.end(), work.begin(), work.end());
    const std::uintmax_t begin = fs::exists(log) ? fs::file_size(log) : 0;
    const int status = RunProgram(words, log, tick, stop);
    if (stop) return false;
    if (status != 0) throw Error(ShellLine(words) + ": " + EndOfLog(log, begin));
    return true;
  };
  return phase("trainings", options.trainings) && phase("points", options.points);
}

fs::path WriteSlurmScripts(const LaunchOptions& options) {
  const fs::path folder = options.study / "slurm";
  fs::create_directories(folder);
  std::string submit =
      "#!/bin/sh\n"
      "# Submits the study's jobs, each after the one before, and prints their numbers.\n"
      "set -eu\n"
      "cd \"$(dirname \"$0\")\"\n"
      "after=\n";
  const auto add = [&](const std::string& job) {
    submit += fmt::format(
        "job=$(sbatch --parsable $after {}.sbatch)\n"
        "job=${{job%%;*}}\n"
        "echo \"$job\"\n"
        "after=--dependency=afterany:$job\n",
        job);
  };
  if (options.trainings > 0) {
    ReplaceFile(folder / "trainings.sbatch", ArrayScript(options, "trainings", options.trainings));
    add("trainings");
  }
  if (options.points > 0) {
    ReplaceFile(folder / "points.sbatch", ArrayScript(options, "points", options.points));
    add("points");
  }
  ReplaceFile(folder / "collect.sbatch",
              BatchHead(options, "collect", "collect.log") + "\nexec " +
                  ShellLine({options.program.string(), "collect", options.study.string()}) + "\n");
  add("collect");
  ReplaceFile(folder / "submit.sh", submit);
  fs::permissions(folder / "submit.sh", fs::perms::owner_exec, fs::perm_options::add);
  return folder / "submit.sh";
}

std::vector<std::string> SubmitSlurm(const fs::path& submit) {
  const ShellResult result = RunShell(ShellLine({submit.string()}));
  if (result.status != 0) throw Error(submit.string() + ": " + result.text);
  return SplitList(result.text, '\n');
}

bool WaitSlurm(const std::vector<std::string>& jobs, const std::function<void()>& tick,
               const StopFlag& stop) {
  const std::string line = ShellLine({"squeue", "--noheader", "--jobs=" + Join(jobs, ",")});
  while (true) {
    const ShellResult queue = RunShell(line);
    // The jobs have ended long ago.
    const bool gone = queue.text.find("Invalid job id") != std::string::npos;
    if (gone || (queue.status == 0 && queue.text.empty())) return true;
    const auto look = std::chrono::steady_clock::now() + kQueueLook;
    while (std::chrono::steady_clock::now() < look) {
      if (stop) return false;
      tick();
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
}

}  // namespace legacy
