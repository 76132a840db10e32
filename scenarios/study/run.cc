#include "scenarios/study/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "base/programs/child.h"
#include "scenarios/federated/learner.h"
#include "scenarios/study/tasks.h"
#include "scenarios/study/work.h"
#include "scenarios/training/step_sources.h"

namespace legacy {
namespace {

using WallClock = std::chrono::steady_clock;
constexpr int kTickMilliseconds = 200;

double SecondsSince(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

// Returns the name of this process among all processes of the study, for its logs.
std::string ProcessName() {
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"host"};
  return fmt::format("{}-{}", host.data(), getpid());
}

// A Slot runs one process at a time, with a journal of its own.
struct Slot {
  // Null before the first process, and if the last one may have ended in the middle of a line.
  std::unique_ptr<analysis::JournalWriter> journal;
  std::unique_ptr<Child> child;
  bool trains = false;
  Piece piece;                  // piece in progress; a training has no points
  size_t ended = 0;             // number of its points that have ended
  double samples = 0;           // size of the training
  double share = 0;             // share of the training that is done
  WallClock::time_point begin;  // start of the current training or point
};

class StudyRun {
 public:
  StudyRun(const StudyFolder& folder, const analysis::Study& now, const StudyRunOptions& options);

  StudyProgress Run(const std::function<void(const StudyProgress&)>& tick, const StopFlag& stop);

 private:
  void FindOut(const analysis::Study& now);
  void PrepareTrainings() const;
  void Fill();
  void StartTraining(Slot& slot, size_t training);
  void StartPiece(Slot& slot, Piece piece);
  void Listen();
  void Hear(Slot& slot, const std::string& line);
  void CountWork();
  void End(Slot& slot);
  void EndTraining(Slot& slot, const Child::End& end);
  void EndPiece(Slot& slot, const Child::End& end);
  analysis::JournalWriter& JournalOf(Slot& slot);
  bool Trained(size_t training) const {
    return IsTrained(folder_.path(), folder_.plan().trainings[training]);
  }

  const StudyFolder& folder_;
  const StudyRunOptions& options_;
  StudyProgress progress_;
  std::vector<Slot> slots_;
  std::deque<size_t> trainings_;                  // trainings to start
  std::deque<Piece> ready_;                       // pieces to start
  std::map<size_t, std::vector<Piece>> waiting_;  // pieces that wait for their training
};

StudyRun::StudyRun(const StudyFolder& folder, const analysis::Study& now,
                   const StudyRunOptions& options)
    : folder_(folder), options_(options), slots_(static_cast<size_t>(options.jobs)) {
  progress_.jobs = options.jobs;
  FindOut(now);
}

// Reports once the errors that every child would have. Unless some children need other kernels, it
// also loads LibTorch, which they inherit because they are forks.
void StudyRun::PrepareTrainings() const {
  std::set<Processor> processors;
  for (const size_t training : trainings_) {
    CheckData(folder_.plan().trainings[training]);
    const Scenario& scenario = folder_.plan().trainings[training].scenario;
    if (scenario.layers.empty()) processors.insert(*scenario.processor);
  }
  if (processors.size() == 1) LoadTraining(*processors.begin());
}

void StudyRun::FindOut(const analysis::Study& now) {
  const int64_t processes = std::max<int64_t>(options_.jobs, options_.share.count);
  WorkLeft left = FindWork(
      folder_.plan(), now, [this](size_t training) { return Trained(training); }, options_.share,
      processes, options_.retry_failed);
  if (options_.phase != StudyPhase::kPoints) {
    for (const size_t training : left.found) {
      RecordTraining(folder_, training, JournalOf(slots_.front()));
    }
    trainings_.assign(left.trainings.begin(), left.trainings.end());
    for (const size_t training : trainings_) {
      progress_.samples += SamplesOf(folder_.plan().trainings[training]);
    }
    progress_.trainings = std::ssize(trainings_);
    PrepareTrainings();
  }
  if (options_.phase == StudyPhase::kTrainings) return;
  for (Piece& piece : left.pieces) {
    progress_.points += std::ssize(piece.points);
    const size_t training = piece.training;
    if (Trained(training)) {
      ready_.push_back(std::move(piece));
    } else {
      waiting_[training].push_back(std::move(piece));
    }
  }
}

analysis::JournalWriter& StudyRun::JournalOf(Slot& slot) {
  if (!slot.journal) {
    slot.journal =
        std::make_unique<analysis::JournalWriter>(folder_.Journals(), folder_.empty().metrics);
  }
  return *slot.journal;
}

void StudyRun::Fill() {
  for (Slot& slot : slots_) {
    if (slot.child) continue;
    if (!trainings_.empty()) {
      const size_t training = trainings_.front();
      trainings_.pop_front();
      StartTraining(slot, training);
    } else if (!ready_.empty()) {
      Piece piece = std::move(ready_.front());
      ready_.pop_front();
      StartPiece(slot, std::move(piece));
    }
  }
}

// Starts a training with those threads that no other training needs. Results do not depend on the
// number of threads.
void StudyRun::StartTraining(Slot& slot, size_t training) {
  const int64_t left = progress_.trainings - progress_.trainings_ended;
  const int threads =
      std::max(1, options_.jobs / static_cast<int>(std::min<int64_t>(left, options_.jobs)));
  analysis::JournalWriter& journal = JournalOf(slot);
  slot.trains = true;
  slot.piece = {training, {}};
  slot.samples = SamplesOf(folder_.plan().trainings[training]);
  slot.share = 0;
  slot.begin = WallClock::now();
  slot.child = std::make_unique<Child>(TrainingLog(folder_, training), [&](const Child::Say& say) {
    return TrainTask(folder_, training, threads, journal, say);
  });
}

void StudyRun::StartPiece(Slot& slot, Piece piece) {
  analysis::JournalWriter& journal = JournalOf(slot);
  slot.trains = false;
  slot.piece = std::move(piece);
  slot.ended = 0;
  slot.begin = WallClock::now();
  const std::string name = fmt::format("{}.{}.log", ProcessName(), &slot - slots_.data() + 1);
  slot.child = std::make_unique<Child>(folder_.Journals() / name, [&](const Child::Say& say) {
    return TimeTask(folder_, slot.piece, journal, say);
  });
}

void StudyRun::Listen() {
  std::vector<pollfd> files;
  std::vector<Slot*> slots;
  for (Slot& slot : slots_) {
    if (!slot.child) continue;
    files.push_back({slot.child->file(), POLLIN, 0});
    slots.push_back(&slot);
  }
  if (poll(files.data(), files.size(), kTickMilliseconds) <= 0) return;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].revents == 0) continue;
    bool ended = false;
    for (const std::string& line : slots[i]->child->Read(ended)) Hear(*slots[i], line);
    if (ended) End(*slots[i]);
  }
}

void StudyRun::Hear(Slot& slot, const std::string& line) {
  if (slot.trains) {
    slot.share = std::stod(line);
    return;
  }
  if (line == "begin") return;
  ++slot.ended;
  ++progress_.points_ended;
  progress_.points_failed += line == "end failed";
  progress_.point_seconds += SecondsSince(slot.begin);
  slot.begin = WallClock::now();
}

// Counts the finished part of trainings that have not ended.
void StudyRun::CountWork() {
  progress_.samples_in_work = progress_.seconds_in_work = 0;
  for (const Slot& slot : slots_) {
    if (!slot.child || !slot.trains || slot.share <= 0) continue;
    progress_.samples_in_work += slot.share * slot.samples;
    progress_.seconds_in_work += SecondsSince(slot.begin);
  }
}

void StudyRun::End(Slot& slot) {
  const Child::End end = slot.child->Wait();
  slot.child.reset();
  if (end.status == kTaskBroken) throw Error(folder_.Journals().string() + ": " + end.how);
  // The process may have ended in the middle of a line.
  if (end.status != 0 && end.status != kTaskFailed) slot.journal.reset();
  if (slot.trains) {
    EndTraining(slot, end);
  } else {
    EndPiece(slot, end);
  }
}

void StudyRun::EndTraining(Slot& slot, const Child::End& end) {
  const size_t training = slot.piece.training;
  ++progress_.trainings_ended;
  progress_.training_seconds += SecondsSince(slot.begin);
  progress_.samples_ended += slot.samples;
  const auto waiting = waiting_.find(training);
  if (end.status != 0) {
    if (end.status != kTaskFailed) {
      RecordFailedTraining(folder_, training, end.how, JournalOf(slot));
    }
    ++progress_.trainings_failed;
  }
  if (waiting == waiting_.end()) return;
  for (Piece& piece : waiting->second) {
    if (end.status == 0) {
      ready_.push_back(std::move(piece));
    } else {
      progress_.points_ended += std::ssize(piece.points);
      progress_.points_failed += std::ssize(piece.points);
    }
  }
  waiting_.erase(waiting);
}

void StudyRun::EndPiece(Slot& slot, const Child::End& end) {
  if (end.status == 0) return;
  RecordFailedPoint(folder_, slot.piece.points.at(slot.ended), end.how, JournalOf(slot));
  Hear(slot, "end failed");
  const auto first = slot.piece.points.begin() + static_cast<std::ptrdiff_t>(slot.ended);
  Piece rest{slot.piece.training, {first, slot.piece.points.end()}};
  if (!rest.points.empty()) ready_.push_front(std::move(rest));
}

StudyProgress StudyRun::Run(const std::function<void(const StudyProgress&)>& tick,
                            const StopFlag& stop) {
  const auto busy = [](const Slot& slot) { return slot.child != nullptr; };
  while (!stop) {
    Fill();
    if (std::none_of(slots_.begin(), slots_.end(), busy)) break;
    Listen();
    CountWork();
    tick(progress_);
  }
  progress_.interrupted =
      !trainings_.empty() || !ready_.empty() || std::any_of(slots_.begin(), slots_.end(), busy);
  slots_.clear();  // this kills the children
  return progress_;
}

}  // namespace

StudyProgress::Left StudyProgress::TimeLeft() const {
  Left left;
  const auto add = [&](int64_t pieces_left, double seconds, double done, double open) {
    if (pieces_left <= 0) return;
    if (done > 0) {
      left.seconds +=
          open * seconds / done / static_cast<double>(std::min<int64_t>(jobs, pieces_left));
    } else {
      left.at_least = true;
    }
  };
  const double trained = samples_ended + samples_in_work;
  add(trainings - trainings_ended, training_seconds + seconds_in_work, trained, samples - trained);
  const auto ended = static_cast<double>(points_ended);
  add(points - points_ended, point_seconds, ended, static_cast<double>(points) - ended);
  return left;
}

double SamplesOf(const PlannedTraining& training) {
  const Scenario& scenario = training.scenario;
  if (scenario.federated) {
    const PlanRequest request = RequestOf(scenario, scenario.seed);
    const auto* sync = std::get_if<fabric::SyncOptions>(&request.server);
    const double tasks = sync != nullptr ? sync->perRound * sync->overSelect
                                         : std::get<fabric::AsyncOptions>(request.server).buffer;
    return tasks * static_cast<double>(StepsOf(scenario));
  }
  return static_cast<double>(scenario.workers) * static_cast<double>(scenario.batch) *
         static_cast<double>(scenario.accumulate) * static_cast<double>(scenario.steps);
}

int64_t StepsOf(const Scenario& scenario) {
  if (!scenario.federated) return scenario.steps;
  return scenario.federated->rounds;
}

void SetSteps(Scenario& scenario, int64_t steps) {
  if (scenario.federated) {
    scenario.federated->rounds = steps;
  } else {
    scenario.steps = steps;
  }
}

StudyProgress RunStudy(const StudyFolder& folder, const analysis::Study& now,
                       const StudyRunOptions& options,
                       const std::function<void(const StudyProgress&)>& tick,
                       const StopFlag& stop) {
  return StudyRun(folder, now, options).Run(tick, stop);
}

}  // namespace legacy
