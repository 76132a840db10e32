// Stragglers are factors on workers' device time, known before the network runs. They move the
// times at which messages are ready; the network's share of a step follows from those.
//
//   none                          1
//   fixed:workers=3+7,factor=F    F for these workers (or count=2: the last ones), 1 for the others
//   slow:probability=p,factor=F   F with probability p, else 1
//   lognormal:sigma=s             exp(s Z): median 1, mean exp(s^2 / 2)
//   exponential:scale=c           1 - c ln U: mean 1 + c (Lee et al., IEEE Trans. Inf. Theory 2018)
//   pareto:shape=a,scale=c        1 + c (U^(-1/a) - 1): mean 1 + c / (a - 1) for a > 1; c = 1 is
//                                 the Pareto distribution of minimum 1
//   trace:file=F                  measured times, see straggler-trace.h
//
// U uniform in (0, 1) and Z normal are drawn for each (seed, step, worker). Drawn and traced
// factors take `lasting=STEPS` (a draw holds for that many steps) or `lasting=run` (for the run).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A StragglerModel gives the slow-down of each worker's device in a step: >= 1 for all models
/// except lognormal and trace, whose factors are > 0.
class StragglerModel
{
  public:
    virtual ~StragglerModel() = default;
    /// Returns one factor for each worker. Throws Error where the model does not fit the number of
    /// workers.
    virtual std::vector<double> Factors(int workers, uint64_t seed, uint64_t step) const = 0;
    /// Returns the model in words, for people.
    virtual std::string Description() const = 0;
    /// True where Factors depends on the step.
    virtual bool Transient() const = 0;
};

/// Makes a model from its text, as in the table above. Throws Error with what is allowed; for a
/// wrong trace file, with file and line.
std::unique_ptr<StragglerModel> MakeStragglers(const std::string& text);

} // namespace legacy::fabric
