// The trainings of a run follow one another; each is made step by step, or version by version. One
// loop runs all of them: those that train workers or clients now, and those that were recorded.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "scenarios/checkpoint/checkpoints.h"

namespace legacy {

// Rounds are one training: the steps of workers, or the versions of clients.
class Rounds {
 public:
  virtual ~Rounds() = default;
  // Makes the next one: trains and times it, evaluates it where that is due, and writes its rows.
  // Returns false where none is left.
  virtual bool Next() = 0;
  // Writes the rows of the whole training. Returns false where it was stopped before its end.
  virtual bool Finish() = 0;
};

// Trainings are those of a run, in the order of its rows.
class Trainings {
 public:
  virtual ~Trainings() = default;
  // Does what comes before the first training.
  virtual void Prepare() {}
  virtual size_t Count() const = 0;
  // Returns the first that is not done, of which a resumed run may have made a part.
  virtual size_t First() const { return 0; }
  // Begins a training, or continues it; the one before has ended. Returns null where it needs
  // nothing any more.
  virtual std::unique_ptr<Rounds> Begin(size_t training) = 0;
  // Writes a checkpoint of the training in work.
  virtual void Save(size_t /*training*/) {}
  // All have ended, or they were stopped or given up.
  virtual void End(bool /*done*/) {}
};

// A Pace says when trainings pause.
struct Pace {
  std::function<bool()> stopped;       // is asked after each step or version
  Checkpoints* checkpoints = nullptr;  // null: none is written
  // Returns the seconds that a stop waits for the next step before it is given up
  // (base/programs/patience.h); 0: until it is done. Empty: a stop does not wait.
  std::function<unsigned()> patience = {};
};

// Runs all trainings that are left. Returns false where they were stopped or given up (GivenUp).
bool RunTrainings(Trainings& trainings, const Pace& pace);

}  // namespace legacy
