// A task is the work of a child process of a study, which reports to its parent.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/journal.h"
#include "base/programs/child.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/schedule.h"

namespace legacy {

// Exit status of a task that recorded a failure. With any status but this one and 0, the task did
// not end by itself.
inline constexpr int kTaskFailed = 3;
// Exit status where the journal cannot be written, so that nothing can continue.
inline constexpr int kTaskBroken = 4;

// Returns trainings/<id>.log, and creates the folder.
std::filesystem::path TrainingLog(const StudyFolder& folder, size_t training);

// Trains with that many threads and writes the result; a failure is written for the training's
// points as well. Two processes never run the same training at once: the second waits for the first
// and finds its work done. Now and then it says the share that is done, as in "0.25".
int TrainTask(const StudyFolder& folder, size_t training, int threads,
              analysis::JournalWriter& journal, const Child::Say& say);

// Times the piece's points one after the other. For each it says "begin" and then "end done" or
// "end failed".
int TimeTask(const StudyFolder& folder, const Piece& piece, analysis::JournalWriter& journal,
             const Child::Say& say);

// Write failed work to the journal. The points of a training come first, so that no point of a
// failed training stays pending.
void RecordFailedPoint(const StudyFolder& folder, size_t point, const std::string& message,
                       analysis::JournalWriter& journal);
void RecordFailedTraining(const StudyFolder& folder, size_t training, const std::string& message,
                          analysis::JournalWriter& journal);
void RecordTraining(const StudyFolder& folder, size_t training, analysis::JournalWriter& journal);

}  // namespace legacy
