// Learners of a recorded run without a server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "scenarios/federated/recorded_learners.h"
#include "scenarios/federated/recorded_rows.h"
#include "trainer/clock/record.h"

namespace legacy {

// Returns the learner of one training of a record, whose versions have that many fragments. Record
// and rows outlive it. Throws Error where the record lacks the training.
std::unique_ptr<ExchangeLearner> RecordedExchange(const Record& record, const std::string& policy,
                                                  uint64_t seed, const TrainingRows& rows,
                                                  int fragments);

// Returns a learner that gives the recorded versions up to that of `present`, which was restored
// from a checkpoint, and then continues it.
std::unique_ptr<ExchangeLearner> Resume(std::unique_ptr<ExchangeLearner> present,
                                        const ResumedPast& past);

}  // namespace legacy
