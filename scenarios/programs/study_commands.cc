#include "scenarios/programs/study_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "analysis/study/words.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "scenarios/run/manifest.h"
#include "scenarios/study/launch.h"
#include "scenarios/study/progress.h"
#include "scenarios/study/records.h"
#include "scenarios/study/shell.h"
#include "scenarios/study/work.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using WallClock = std::chrono::steady_clock;

constexpr double kLockSeconds = 2;          // time within which the children of a killed run end
constexpr double kCollectLockSeconds = 60;  // time within which another process finishes collecting
constexpr int kSlurmTasks = 16;
// The shortest pause between two readings of the journals.
constexpr auto kLeastPause = std::chrono::seconds(1);
// Readings take at most a twentieth of the time.
constexpr int kPauseFactor = 20;

bool OnTerminal() { return isatty(STDERR_FILENO) != 0; }

// A NowAndThen runs a piece of work from time to time, less often the longer that takes.
class NowAndThen {
 public:
  template <typename Work>
  void Call(Work work) {
    const auto begin = WallClock::now();
    if (begin < next_) return;
    work();
    const auto end = WallClock::now();
    next_ = end + std::max<WallClock::duration>(kLeastPause, kPauseFactor * (end - begin));
  }

 private:
  WallClock::time_point next_ = WallClock::now() + kLeastPause;
};

int DefaultJobs(Launcher launcher) {
  if (launcher == Launcher::kSlurm) return kSlurmTasks;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// A Watch measures the progress of remaining work that other processes do. It reads the study from
// time to time.
class Watch {
 public:
  Watch(const StudyFolder& folder, const WorkLeft& left, int jobs)
      : folder_(folder), left_(left), start_(WallClock::now()) {
    progress_.jobs = jobs;
    progress_.trainings = std::ssize(left.trainings);
    for (const size_t training : left.trainings) progress_.samples += Samples(training);
    for (const Piece& piece : left.pieces) progress_.points += std::ssize(piece.points);
  }

  const StudyProgress& Look(const analysis::Study& now) {
    progress_.trainings_ended = 0;
    progress_.samples_ended = 0;
    for (const size_t training : left_.trainings) {
      if (!IsTrained(folder_.path(), folder_.plan().trainings[training])) continue;
      ++progress_.trainings_ended;
      progress_.samples_ended += Samples(training);
    }
    progress_.points_ended = 0;
    for (const Piece& piece : left_.pieces) {
      progress_.points_ended += std::ranges::count_if(piece.points, [&](size_t point) {
        return now.points[point].state == analysis::StudyState::kDone;
      });
    }
    const double seconds = std::chrono::duration<double>(WallClock::now() - start_).count();
    if (progress_.points_ended == 0) {
      progress_.training_seconds = phase_begin_ = seconds * progress_.jobs;
    } else {
      progress_.point_seconds = seconds * progress_.jobs - phase_begin_;
    }
    return progress_;
  }

 private:
  double Samples(size_t training) const { return SamplesOf(folder_.plan().trainings[training]); }

  const StudyFolder& folder_;
  const WorkLeft& left_;
  WallClock::time_point start_;
  double phase_begin_ = 0;  // start of the points' phase, in seconds of all processes
  StudyProgress progress_;
};

struct Counts {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t pending = 0;
};

Counts CountPoints(const analysis::Study& study) {
  Counts counts;
  for (const analysis::StudyPoint& point : study.points) {
    counts.done += point.state == analysis::StudyState::kDone;
    counts.failed += point.state == analysis::StudyState::kFailed;
    counts.pending += point.state == analysis::StudyState::kPending;
  }
  return counts;
}

// Returns the message that most failed points have, and their number.
std::string CommonestFailure(const analysis::Study& study) {
  std::map<std::string, int64_t> counts;
  for (const analysis::StudyPoint& point : study.points) {
    if (point.state == analysis::StudyState::kFailed) ++counts[point.message];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& message) { return message.second; });
  return fmt::format("{} ({} of {})", most->first, most->second, CountPoints(study).failed);
}

// Prints the result and how to continue. Returns the exit status.
int Conclude(const fs::path& folder, const analysis::Study& study, bool interrupted) {
  const Counts counts = CountPoints(study);
  const std::string path = ShellWord(folder.string());
  fmt::print(stderr, "{} points: {} done, {} failed, {} pending\n", study.points.size(),
             counts.done, counts.failed, counts.pending);
  for (const std::string& note : study.notes) fmt::print(stderr, "note: {}\n", note);
  if (counts.failed > 0) {
    fmt::print(stderr, "most often: {}\n", CommonestFailure(study));
    fmt::print(stderr, "what failed: {} status {} --failed\n", CommandOf("legacy-study"), path);
  }
  if (interrupted || counts.pending > 0) {
    fmt::print(stderr, "continue with: {} resume {}\n", CommandOf("legacy-study"), path);
  }
  if (interrupted) return kInterrupted;
  if (counts.done > 0 && counts.pending == 0) {
    const std::string verdict = analysis::StudyVerdict(study);
    if (!verdict.empty()) fmt::print("\n{}\n", verdict);
    fmt::print("\nnext: {} report {}\n", CommandOf("legacy-study"), path);
  }
  return counts.failed + counts.pending > 0 ? kSomeFailed : 0;
}

int RunHere(const StudyFolder& folder, const RunCommand& command, int jobs, const StopFlag& stop) {
  Collector collector(folder.path());
  StudyProgressLine line(OnTerminal());
  NowAndThen collecting;
  const StudyRecords records(folder, command.records);
  StudyRunOptions options;
  options.jobs = jobs;
  options.retry_failed = command.retry_failed;
  const analysis::Study now = collector.study();
  const StudyProgress progress = RunStudy(
      folder, now, options,
      [&](const StudyProgress& state) {
        line.Show(state);
        collecting.Call([&] {
          collector.Collect();
          records.Keep();
        });
      },
      stop);
  records.Keep();
  line.Finish(progress);
  collector.Collect();
  return Conclude(folder.path(), collector.study(), progress.interrupted);
}

// Returns what launchers should start. The paths of the study and the program are absolute, because
// jobs begin in other folders.
LaunchOptions Launch(const StudyFolder& folder, const RunCommand& command, const WorkLeft& left,
                     int jobs) {
  LaunchOptions options;
  options.program = command.program;
  options.study = fs::absolute(folder.path());
  options.retry_failed = command.retry_failed;
  options.arguments = command.arguments;
  if (!left.trainings.empty()) {
    options.trainings = std::min<int64_t>(jobs, std::ssize(folder.plan().trainings));
  }
  if (!left.pieces.empty()) {
    options.points = std::min<int64_t>(jobs, std::ssize(PiecesOf(folder.plan(), jobs)));
  }
  return options;
}

int RunByMpi(const StudyFolder& folder, const RunCommand& command, const WorkLeft& left, int jobs,
             const StopFlag& stop) {
  Collector collector(folder.path());
  StudyProgressLine line(OnTerminal());
  Watch watch(folder, left, jobs);
  NowAndThen looking;
  const bool whole = LaunchMpi(
      Launch(folder, command, left, jobs),
      [&] {
        looking.Call([&] {
          collector.Collect();
          line.Show(watch.Look(collector.study()));
        });
      },
      stop);
  collector.Collect();
  line.Finish(watch.Look(collector.study()));
  return Conclude(folder.path(), collector.study(), !whole);
}

// The lock is released while jobs wait and run, because the last job collects the results.
int RunBySlurm(const StudyFolder& folder, const RunCommand& command, const WorkLeft& left, int jobs,
               std::optional<StudyLock>& lock, const StopFlag& stop) {
  const fs::path submit = WriteSlurmScripts(Launch(folder, command, left, jobs));
  if (!command.submit) {
    fmt::print(stderr, "written: {}; submit with: {}\n", submit.parent_path().string(),
               ShellWord(submit.string()));
    return 0;
  }
  const std::vector<std::string> ids = SubmitSlurm(submit);
  lock.reset();
  fmt::print(stderr, "submitted: jobs {}; how far they are: {} status {}\n", Join(ids, ", "),
             CommandOf("legacy-study"), ShellWord(folder.path().string()));
  if (!command.wait) return 0;
  StudyProgressLine line(OnTerminal());
  Watch watch(folder, left, jobs);
  NowAndThen looking;
  const auto look = [&] { line.Show(watch.Look(ReadStudy(folder.path()))); };
  if (!WaitSlurm(
          ids, [&] { looking.Call(look); }, stop)) {
    fmt::print(stderr, "\nthe jobs continue; end them with: scancel {}\n", Join(ids, " "));
    return kInterrupted;
  }
  lock.emplace(folder.path(), kCollectLockSeconds);
  Collector collector(folder.path());
  line.Finish(watch.Look(collector.study()));
  return Conclude(folder.path(), collector.study(), false);
}

int RunLeft(const StudyFolder& folder, const RunCommand& command, std::optional<StudyLock>& lock,
            const StopFlag& stop) {
  const StopScope scope(kSecondsToStopChildren);
  const int jobs = command.jobs > 0 ? command.jobs : DefaultJobs(command.launcher);
  const StudyRecords records(folder, command.records);
  const int64_t taken = records.Take();
  if (taken > 0) fmt::print(stderr, "trainings taken from records: {}\n", taken);
  records.Keep();
  if (command.launcher == Launcher::kLocal) return RunHere(folder, command, jobs, stop);
  const analysis::Study now = Collector(folder.path()).study();
  const auto trained = [&](size_t training) {
    return IsTrained(folder.path(), folder.plan().trainings[training]);
  };
  const WorkLeft left = FindWork(folder.plan(), now, trained, Share{}, jobs, command.retry_failed);
  if (left.trainings.empty() && left.found.empty() && left.pieces.empty()) {
    return Conclude(folder.path(), now, false);
  }
  return command.launcher == Launcher::kMpi ? RunByMpi(folder, command, left, jobs, stop)
                                            : RunBySlurm(folder, command, left, jobs, lock, stop);
}

}  // namespace

Launcher ParseLauncher(const std::string& text, const std::string& key) {
  return ParseChoice<Launcher>(text, key, std::array{"local", "mpi", "slurm"});
}

int RunNewStudy(const fs::path& folder, const std::string& text, const std::string& where,
                const RunCommand& command, const StopFlag& stop) {
  StudyPlan plan = PlanStudy(ParseStudy(text, where));  // mistakes leave nothing behind
  CheckHoldsNo(Held::kRun, folder, "--out");
  fs::create_directories(folder);
  std::optional<StudyLock> lock(std::in_place, folder, kLockSeconds);
  return RunLeft(StudyFolder::Create(folder, std::move(plan)), command, lock, stop);
}

int ResumeStudy(const fs::path& folder, const RunCommand& command, const StopFlag& stop) {
  const StudyFolder study = StudyFolder::Open(folder);
  std::optional<StudyLock> lock(std::in_place, folder, kLockSeconds);
  study.NeedDatabase();
  return RunLeft(study, command, lock, stop);
}

int WorkOnStudy(const fs::path& folder, const StudyRunOptions& options, const StopFlag& stop) {
  const StudyFolder study = StudyFolder::Open(folder);
  const StopScope scope(kSecondsToStopChildren);
  StudyProgressLine line(OnTerminal());
  const StudyProgress progress = RunStudy(
      study, ReadStudy(folder), options, [&](const StudyProgress& state) { line.Show(state); },
      stop);
  line.Finish(progress);
  if (progress.interrupted) return kInterrupted;
  if (progress.points_ended < progress.points) {
    fmt::print(stderr, "{} points wait for trainings that are not there: --phase=trainings first\n",
               progress.points - progress.points_ended);
  }
  return 0;
}

int CollectStudy(const fs::path& folder) {
  const StudyFolder study = StudyFolder::Open(folder);
  const StudyLock lock(folder, kCollectLockSeconds);
  study.NeedDatabase();
  const Collector collector(folder);
  Conclude(folder, collector.study(), false);
  return 0;
}

}  // namespace legacy
