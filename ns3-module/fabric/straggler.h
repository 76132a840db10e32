// Stragglers: factors on workers' device time, drawn before the network runs. They move ready
// times, never the total.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// Slow-down of each worker's device at a step, >= 1 for fixed and shifted exponential, > 0 for
/// lognormal.
class StragglerModel
{
  public:
    virtual ~StragglerModel() = default;
    virtual std::vector<double> Factors(int workers, uint64_t seed, uint64_t step) const = 0;
    virtual std::string Description() const = 0;
    /// True where Factors depends on the step.
    virtual bool Transient() const = 0;
};

/// "none"; "fixed:workers=3+7,factor=1.5" (a list, or a count as "fixed:count=2,factor=1.5": the
/// last ones); "lognormal:sigma=0.3" (median 1); "exponential:scale=0.2" (1 + Exp). Throws Error
/// with the list otherwise.
std::unique_ptr<StragglerModel> MakeStragglers(const std::string& text);

} // namespace legacy::fabric
