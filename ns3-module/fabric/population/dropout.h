// Dropout: tasks that end without an update for reasons of their own. Texts:
//
//   0 or off                     no task is lost
//   0.1[:where=work|upload|any]  a task is lost with this probability, at a uniform part of its
//                                work (default), of its upload, or of one of download, work and
//                                upload, each as likely
//   hazard:mean=10m              a task is lost after an exponential time from its dispatch, unless
//                                it ended before
#pragma once

#include "base/units.h"

#include <cstdint>
#include <string>

namespace legacy::fabric
{

/// A TaskStage is what a task does: the model comes down, the client works, the update goes up.
enum class TaskStage : uint8_t
{
    Download,
    Work,
    Upload,
};

/// A Loss says where a task is lost.
struct Loss
{
    bool lost = false;
    TaskStage stage = TaskStage::Work;
    double part = 0; ///< (0, 1), of that stage's bytes or time
};

/// A Dropout draws by (seed, key, client), where the key is the version that a client works for, or
/// the number of its task.
class Dropout
{
  public:
    Dropout() = default; ///< no task is lost

    /// Parses a text. Throws Error naming `option`.
    static Dropout Parse(const std::string& text, uint64_t seed, const std::string& option);

    /// Returns whether and where a task is lost by chance.
    Loss LossOf(uint64_t key, int64_t client) const;
    /// Returns the time from its dispatch at which a task is lost by hazard; kNever: it is not.
    TimeNs HazardOf(uint64_t key, int64_t client) const;

    /// Returns true where the time of a task has a part in whether it is lost.
    bool DependsOnTime() const;
    double Chance() const; ///< probability of LossOf

  private:
    uint64_t m_seed = 0;
    double m_chance = 0;
    bool m_any = false;
    TaskStage m_stage = TaskStage::Work;
    double m_mean = 0; ///< nanoseconds; 0: no hazard
};

} // namespace legacy::fabric
