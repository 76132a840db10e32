// The doctor finds by trial what bounds a step, a list of flows, or the rounds of clients. A source
// of remedies (step_doctor.h, scenarios/federated/plan_doctor.h) simulates one of these as it is
// and with each remedy, such as a faster link. The remedy that saves most names the bound.
//
// The verdict takes the kind of the remedy with the largest gain, and of this kind's remedies the
// narrowest that gains at least kAsGood of that (one link before its tier before all links; the
// slowest worker before all slow ones; encoding or decoding before both). Where no remedy gains
// kNoticeable, the verdict is balanced. Of equal gains the remedy that was tried first decides.
//
// Congestion needs no better hardware, so its remedies decide where they gain kNoticeable, and at
// least kCongestionShare of the largest gain.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"

namespace legacy {

inline constexpr double kNoticeable = 0.05;      // fraction of the time as it is
inline constexpr double kAsGood = 0.9;           // fraction of the largest gain
inline constexpr double kCongestionShare = 0.5;  // fraction of the largest gain

// A Bound is what may bound a step or a round.
enum class Bound : uint8_t {
  kBalanced,
  kStraggler,
  kCodec,
  kCongestion,
  kLatency,
  kBandwidth,
  kBytes,
  kPlacement,
  kCompute,
  // The device of a divided model waits for a stream.
  kGathers,
  kReductions,
  kCopies,
  kTensors,
  kContexts,
  kExperts,
  kStages
};
const char* ToString(Bound bound);  // "balanced", "straggler", ...

// A Remedy is one change, simulated.
struct Remedy {
  Bound bound = Bound::kBalanced;
  std::string name = {};                  // its name in files
  std::string change = {};                // words: "link leaf0>spine1 twice as fast"
  TimeNs total = 0;                       // the time with it; 0: it never ended
  double gain = 0;                        // part of the time that is saved; below 0 if it is lost
  bool verdict = false;                   // true for the one that the verdict names
  std::vector<std::string> figures = {};  // further cells of its row in a table
};

// A Diagnosis is the doctor's result.
struct Diagnosis {
  // Adds a remedy, whose gain follows from its time. Narrow ones come before wide ones.
  void Add(Remedy remedy);
  // Finds the verdict when all remedies are there, and sorts them by gain, the largest first.
  // `as_good` is 1 where no remedy is narrower than another.
  void Decide(double as_good = kAsGood);
  // Returns the remedy that the verdict names; `as_it_is` where balanced.
  const Remedy& Verdict() const;

  std::string time_of = {};               // words for what took the time; empty for a step
  std::string time_key = "step_seconds";  // the time's name in files
  size_t rounds = 0;                      // number of rounds that a time is of; 0: of no rounds
  std::string waits = {};                 // sentences about what was waited for; may be empty
  bool by_streams = false;                // the waits are those of a divided model's streams
  Remedy as_it_is{.name = "none"};
  std::vector<Remedy> remedies = {};
};

// Returns one line without its end: "bound by bandwidth: host links twice as fast save 41.2 % of
// 5.21 ms". Of congestion it ends with what was waited for.
std::string VerdictText(const Diagnosis& diagnosis);

// Returns the lines of the remedies, the verdict's marked by a star.
std::string RemedyLines(const Diagnosis& diagnosis);

// Returns one object for the time as it is (remedy "none") and one for each remedy; `head` comes
// first in each. Keys: remedy, bound, change, `time_key`, gain, verdict (0 or 1).
std::vector<nlohmann::ordered_json> DoctorRows(const Diagnosis& diagnosis,
                                               const nlohmann::ordered_json& head);

}  // namespace legacy
