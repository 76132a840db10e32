// Oort (Lai, Zhu, Madhyastha, Chowdhury, OSDI 2021) chooses clients whose samples have large losses
// and whose tasks are short. With B the samples of a client, l their losses in its last task, and t
// the time that this task took,
//
//   u = |B| sqrt(mean of l^2), clipped at the .9 quantile of the tried candidates, scaled to [0, 1]
//       over them
//   score = u + sqrt(.1 ln R / L), R the number of the version in work, from 1, and L that of the
//       last version which the client took part in
//   score (T / t)^penalty where t > T, the `percentile` of the task times of all clients; of those
//       that were never tried, the predicted time
//
// Of M wanted clients, e M are drawn among those never tried, in proportion to |B|, with the same
// penalty, and the rest among the tried ones that score at least .95 of the last of the best, in
// proportion to their scores. e is `explore` at first, and times `decay` each version, down to
// `least`. (1 - e) M is rounded by a draw, so that a server which chooses one client at a time
// explores as often.
//
// Every `pacer` versions the percentile rises by 5 points where the utilities of the counted tasks
// sum to within 10 % of those of the `pacer` versions before, and falls by 5 where they differ by
// more than five times. At 100 no client is slow.
//
// FedScale's selector has these constants; it cuts off at .05 of the last where the paper has .95,
// and scores by the mean utility of a round.
#pragma once

#include "selection.h"

#include "base/settings.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// OortOptions are the constants of Oort.
struct OortOptions
{
    double explore = 0.9;
    double decay = 0.98;
    double least = 0.3;
    double percentile = 30; ///< 100: times do not count
    double penalty = 2;
    int64_t pacer = 20; ///< versions; 0: the percentile stays
};

/// An OortSelection is one training's.
class OortSelection : public Selection
{
  public:
    /// `info` predicts the times of tasks, where they can be predicted.
    OortSelection(uint64_t seed, const OortOptions& options, const SelectionInfo& info);

    /// Reads the options of "oort:explore=0.9,...".
    static OortOptions Read(Settings& settings);

    std::vector<Pick> Select(uint64_t choice, int64_t wanted, const Candidates& from) override;
    bool ReadsWeights() const override;
    bool ReadsLosses() const override;
    bool ReadsSquares() const override;
    bool ReadsTimes() const override;
    void Observe(const TaskFacts& facts) override;
    void OnVersion(int64_t version) override;
    std::vector<double> State() const override;
    void SetState(const std::vector<double>& state) override;

    /// Return the share of clients that are never tried, and the percentile of task times, now.
    double Exploration() const;
    double Percentile() const;

  private:
    /// A record holds what is known of a client that was tried.
    struct Known
    {
        double utility = 0; ///< |B| sqrt(mean of l^2)
        double seconds = 0; ///< of its last task
        int64_t version = 0;
    };

    using Scores = std::vector<std::pair<double, int64_t>>; ///< with clients

    double PreferredSeconds() const;
    double Penalty(double seconds, double preferred) const;
    Scores ScoresOf(const std::vector<int64_t>& tried, double preferred) const;
    void
    Draw(Scores from, int64_t wanted, uint64_t choice, uint64_t part, std::vector<Pick>& picks);

    uint64_t m_seed;
    OortOptions m_options;
    std::vector<double> m_predicted; ///< seconds by client; empty: nobody knows
    std::map<int64_t, Known> m_known;
    double m_percentile;
    int64_t m_version = 0; ///< versions that were made
    double m_sum = 0;      ///< of utilities since the last turn of the pacer
    double m_lastSum = -1; ///< of the turn before; -1: there was none
};

} // namespace legacy::fabric
