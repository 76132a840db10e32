#include "scenarios/study/tasks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>

#include "base/files/own_file.h"
#include "scenarios/study/work.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr auto kPause = std::chrono::milliseconds(200);  // between two reports of a share

// Writes to the journal and returns `status`. An error of the journal is not a failure of the
// training or point, and is reported as kTaskBroken.
template <typename Write>
int Recorded(int status, Write write) {
  try {
    write();
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kTaskBroken;
  }
}

// Returns the message of what `work` throws; nothing if it does not throw.
template <typename Work>
std::optional<std::string> Thrown(Work work) {
  try {
    work();
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Locks the file until the process ends. On file systems without locks, this has no effect.
void LockWhileAlive(const fs::path& path) {
  std::string refused;
  const int file = OpenOwnFile(path, O_RDWR | O_CREAT, refused);
  while (file >= 0 && flock(file, LOCK_EX) != 0 && errno == EINTR) {
  }
}

}  // namespace

fs::path TrainingLog(const StudyFolder& folder, size_t training) {
  const PlannedTraining& planned = folder.plan().trainings[training];
  const fs::path run = TrainingFolder(folder.path(), planned);
  MakeFolderIn(folder.path(), "trainings");
  return run.string() + ".log";
}

int TrainTask(const StudyFolder& folder, size_t training, int threads,
              analysis::JournalWriter& journal, const Child::Say& say) {
  PlannedTraining planned = folder.plan().trainings[training];
  planned.scenario.threads = threads;
  planned.scenario.checkpoint = folder.plan().definition.scenario.checkpoint;
  LockWhileAlive(TrainingLog(folder, training));
  const auto failure = Thrown([&] {
    auto said = std::chrono::steady_clock::now();
    const auto told = [&](double share) {
      const auto now = std::chrono::steady_clock::now();
      if (now - said < kPause) return;
      said = now;
      say(fmt::format("{}", share));
    };
    if (!IsTrained(folder.path(), planned)) Train(folder.path(), planned, told);
  });
  if (!failure) return Recorded(0, [&] { RecordTraining(folder, training, journal); });
  std::fprintf(stderr, "failed: %s\n", failure->c_str());
  return Recorded(kTaskFailed, [&] { RecordFailedTraining(folder, training, *failure, journal); });
}

int TimeTask(const StudyFolder& folder, const Piece& piece, analysis::JournalWriter& journal,
             const Child::Say& say) {
  std::optional<TrainedRun> trained;  // read for the first point
  std::optional<std::string> unreadable;
  for (const size_t id : piece.points) {
    say("begin");
    analysis::StudyPoint point;
    std::optional<std::string> failure = unreadable;
    if (!failure && !trained) {
      failure = unreadable = Thrown(
          [&] { trained = ReadTraining(folder.path(), folder.plan().trainings[piece.training]); });
    }
    if (!failure) {
      failure = Thrown([&] { point = TimePoint(folder.plan(), id, *trained); });
    }
    const int status = Recorded(0, [&] {
      if (!failure) return journal.Write(point);
      std::fprintf(stderr, "point %zu failed: %s\n", id, failure->c_str());
      RecordFailedPoint(folder, id, *failure, journal);
    });
    if (status != 0) return status;
    say(failure ? "end failed" : "end done");
  }
  return 0;
}

void RecordFailedPoint(const StudyFolder& folder, size_t point, const std::string& message,
                       analysis::JournalWriter& journal) {
  analysis::StudyPoint entry = folder.empty().points[point];
  entry.state = analysis::StudyState::kFailed;
  entry.message = message;
  journal.Write(entry);
}

void RecordFailedTraining(const StudyFolder& folder, size_t training, const std::string& message,
                          analysis::JournalWriter& journal) {
  for (const size_t point : folder.plan().trainings[training].points) {
    RecordFailedPoint(folder, point, "its training failed: " + message, journal);
  }
  analysis::StudyTraining entry = folder.empty().trainings[training];
  entry.state = analysis::StudyState::kFailed;
  entry.message = message;
  journal.Write(entry);
}

void RecordTraining(const StudyFolder& folder, size_t training, analysis::JournalWriter& journal) {
  analysis::StudyTraining entry = folder.empty().trainings[training];
  entry.state = analysis::StudyState::kDone;
  journal.Write(entry);
}

}  // namespace legacy
