// Equal volume in bytes, for adaptive policies: how much they send follows from the gradients, so
// it cannot be solved beforehand as for LEGACY's schedule. Pilots, short trainings of the method
// itself, say what an anchor sends; the anchor is moved until that is what was asked for.
// docs/policies.md says how near this comes.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "compress/codec.h"
#include "compress/unit.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Returns `method` with all that says how much it sends times `factor`: its anchor, which is
// `anchor`; Accordion's low and high where they are given; GraVAC's factors, divided by it; of
// Kimad the seconds alone; flexible's densities. Each stays within its bounds.
Method ScaledMethod(const Method& method, const ParameterSpec& spec, double anchor, double factor);

// A PilotBytes returns the message bytes of one worker in a step, the mean over a pilot of the
// method.
using PilotBytes = std::function<double(const Method& method)>;

// EqualBytes is the result of the search.
struct EqualBytes {
  Method method;         // method to train
  double requested = 0;  // bytes of one worker's messages in a step
  double piloted = 0;    // bytes that its pilot sent
  int pilots = 0;        // number of pilots that were run
  // True where piloted is within kBytesTolerance of requested.
  bool Reached() const;
};
inline constexpr double kBytesTolerance = 0.02;  // fraction of what is requested
inline constexpr int kMostPilots = 8;

// Returns the method with the anchor whose pilot sends `requested`; where no pilot did, the nearest
// of those that were run. It is deterministic.
EqualBytes SolveEqualBytes(const Method& method, const ParameterSpec& spec, double anchor,
                           double requested, const PilotBytes& pilot);

// Returns what the scenario asks the method to send with --volume=bytes: as much as its scheme with
// the anchor everywhere. Nothing where volumes are not to be equal in bytes, or where the scheme's
// messages depend on the data.
std::optional<double> RequestedBytes(const Method& method, const Scenario& scenario,
                                     std::span<const Unit> units);

// True where only pilots can tell what the method sends.
bool NeedsPilots(const Method& method);

// Returns the method to train where RequestedBytes() asks for something that only pilots can tell;
// else nothing.
std::optional<EqualBytes> EqualBytesOf(const Method& method, const Scenario& scenario,
                                       std::span<const Unit> units, const PilotBytes& pilot);

}  // namespace legacy
