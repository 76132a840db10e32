// Selection of clients for tasks, from the candidates of that moment. Draws are keyed by (seed,
// choice), where a choice is a round's number or a task's.
//
//   uniform          without replacement, each candidate with the same probability
//   weighted         with replacement, in proportion to weights; who is drawn twice works once and
//                    counts twice
//   round-robin      the next candidates by number
//   power-of-choice  d candidates in proportion to weights, without replacement; of these, those
//                    whose last loss was the largest, and first those that have none yet (Cho,
//                    Wang, Joshi, 2020, the variant without messages of its own)
//   oort             those with large losses and short tasks, and some that were never tried
//                    (oort-selection.h)
//   tiers            classes of equal size by predicted task time; one class for each choice
//                    (Chai et al., HPDC 2020, the static form)
#pragma once

#include "base/settings.h"
#include "candidates.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A Pick is a client that was chosen.
struct Pick
{
    int client = 0;
    int times = 1; ///< how often it was drawn
};

/// TaskFacts are what a server learns of a task whose update counts.
struct TaskFacts
{
    int client = 0;
    double loss = 0;        ///< mean loss of its samples
    double squaredLoss = 0; ///< mean of the squares of their losses, where it is read
    int64_t samples = 0;    ///< of the client
    TimeNs time = 0;        ///< from dispatch to end
};

/// SelectionInfo is what selections may ask for.
struct SelectionInfo
{
    int64_t clients = 0;
    /// Returns the predicted time of a client's task; empty: it is not known.
    std::function<TimeNs(int client)> predicted = {};
};

/// A Selection chooses clients.
class Selection
{
  public:
    virtual ~Selection() = default;
    /// Returns up to `wanted` > 0 draws of candidates that join, in the order in which they are
    /// dispatched; fewer where there are fewer.
    virtual std::vector<Pick> Select(uint64_t choice, int64_t wanted, const Candidates& from) = 0;
    /// Returns true where it reads the candidates' weights.
    virtual bool ReadsWeights() const
    {
        return false;
    }
    /// Returns true where choices depend on losses, which only a training has.
    virtual bool ReadsLosses() const
    {
        return false;
    }
    /// Returns true where choices depend on times, and so on the network.
    virtual bool ReadsTimes() const
    {
        return false;
    }
    /// Returns true where choices depend on squares of losses.
    virtual bool ReadsSquares() const
    {
        return false;
    }
    /// Tells it of a task that counted.
    virtual void Observe(const TaskFacts&)
    {
    }
    /// Tells it of a version that was made, from 1 on, after its tasks.
    virtual void OnVersion(int64_t)
    {
    }
    /// Return and restore what it has learnt, for checkpoints.
    virtual std::vector<double> State() const
    {
        return {};
    }
    virtual void SetState(const std::vector<double>&)
    {
    }
};

/// A SelectionRow is a row of the table of selections.
struct SelectionRow
{
    std::string name;
    std::string keys;         ///< as they stand after the name: "[:d=N]"
    std::string help;         ///< whom it prefers
    bool readsLosses = false; ///< only a training has them
    /// Makes one with what the settings say. Throws Error.
    std::unique_ptr<Selection> (*make)(Settings& settings,
                                       uint64_t seed,
                                       const SelectionInfo& info) = nullptr;
    bool needsClients = false; ///< it cannot be made without their number and predicted times
};

/// Returns the table. A new selection is a file with a row, and a line in the table of
/// selection.cc.
const std::vector<SelectionRow>& SelectionRows();
/// Returns the row of the selection that `text` names. Throws Error naming `option`.
const SelectionRow& FindSelection(const std::string& text, const std::string& option);
/// Returns the text for --help.
std::string DescribeSelections();

/// Makes a selection. Throws Error naming `option`.
std::unique_ptr<Selection> MakeSelection(const std::string& text,
                                         uint64_t seed,
                                         const std::string& option,
                                         const SelectionInfo& info = {});

} // namespace legacy::fabric
