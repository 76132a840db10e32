// A task is what a child process of a study does; it reports to its parent.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/journal.h"
#include "scenarios/study/child.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/schedule.h"

namespace legacy {

// The exit status of a task that recorded a failure. A status that is neither this nor 0 is no end
// that a task chose.
inline constexpr int kTaskFailed = 3;
// The exit status where the journal cannot be written, so that nothing can go on.
inline constexpr int kTaskBroken = 4;

// Returns trainings/<id>.log, and creates the folder.
std::filesystem::path TrainingLog(const StudyFolder& folder, size_t training);

// Trains, with that many threads, and writes what came of it; of a failure the points as well. Two
// processes never train the same at once: the second waits for the first and finds its work done.
int TrainTask(const StudyFolder& folder, size_t training, int threads,
              analysis::JournalWriter& journal);

// Times the piece's points one after the other. It says "begin" and "end done" or "end failed" for
// each, in order.
int TimeTask(const StudyFolder& folder, const Piece& piece, analysis::JournalWriter& journal,
             const Child::Say& say);

// Write failed work to the journal: the points of a training first, so that a training that failed
// has none that are pending.
void RecordFailedPoint(const StudyFolder& folder, size_t point, const std::string& message,
                       analysis::JournalWriter& journal);
void RecordFailedTraining(const StudyFolder& folder, size_t training, const std::string& message,
                          analysis::JournalWriter& journal);
void RecordTraining(const StudyFolder& folder, size_t training, analysis::JournalWriter& journal);

}  // namespace legacy
