// Selection of clients for tasks, from the candidates of that moment. None of these reads the
// clock. Draws are keyed by (seed, choice), where a choice is a round's number or a task's.
//
//   uniform        without replacement, each candidate with the same probability
//   weighted       with replacement, in proportion to weights; who is drawn twice works once and
//                  counts twice
//   round-robin    the next candidates by number
#pragma once

#include "candidates.h"

#include <cstdint>
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
};

/// Makes a selection. Throws Error naming `option`.
std::unique_ptr<Selection>
MakeSelection(const std::string& text, uint64_t seed, const std::string& option);

} // namespace legacy::fabric
