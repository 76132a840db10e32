// Equal volume in bytes, for adaptive policies. The bytes that they send follow from the gradients,
// so they cannot be solved beforehand as for LEGACY's schedule. Pilots, which are trainings of the
// method by one worker, measure what an anchor sends; the anchor is changed until that is the
// requested number of bytes. docs/policies.md says how near this comes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "compress/codec.h"
#include "compress/unit.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Returns `method` with everything that determines its volume scaled by `factor`: its anchor, which
// is `anchor`; Accordion's low and high where they are given; GraVAC's factors, which are divided
// by it; for Kimad with given seconds only those; flexible's densities. Each stays within its
// bounds.
Method ScaledMethod(const Method& method, const ParameterSpec& spec, double anchor, double factor);

// A PilotBytes runs a pilot of the method, and returns the message bytes of one worker in a step,
// as the mean over the steps.
using PilotBytes = std::function<double(const Method& method)>;

// EqualBytes is the result of the search.
struct EqualBytes {
  Method method;            // method to train
  double requested = 0;     // bytes of one worker's messages in a step
  double piloted = 0;       // bytes that the pilot of `method` sent
  int pilots = 0;           // number of pilots that were run
  std::string reason = {};  // reason why other bytes may be sent; empty: none is known
  // True where piloted is within kBytesTolerance of requested.
  bool Reached() const;
};
inline constexpr double kBytesTolerance = 0.02;  // fraction of the requested bytes
inline constexpr int kMostPilots = 8;

// Returns the method with the anchor whose pilot sends `requested`. Where no pilot did, returns the
// nearest of those that ran. The result is deterministic.
EqualBytes SolveEqualBytes(const Method& method, const ParameterSpec& spec, double anchor,
                           double requested, const PilotBytes& pilot);

// Returns the bytes that the method has to send with --volume=bytes: as many as its scheme sends
// with the anchor everywhere. Nothing where volumes are not equal in bytes, or where the lengths of
// the scheme's messages depend on the data.
std::optional<double> RequestedBytes(const Method& method, const Scenario& scenario,
                                     std::span<const Unit> units);

// Returns true where only pilots can measure what the method sends.
bool NeedsPilots(const Method& method);

// Returns the method to train where it needs pilots to send that many bytes; else nothing.
std::optional<EqualBytes> EqualBytesOf(const Method& method, const Scenario& scenario,
                                       std::span<const Unit> units, std::optional<double> requested,
                                       const PilotBytes& pilot);

}  // namespace legacy
