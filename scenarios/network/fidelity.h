// Fidelity `auto` simulates packets where that is affordable. Otherwise it simulates flows, and a
// sample of steps with packets too, so that every answer says how far to trust it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/engines/network.h"

namespace legacy {

// A FidelityChoice is the chosen fidelity and the reason.
struct FidelityChoice {
  Fidelity fidelity = Fidelity::kFlow;  // kPacket or kFlow
  int64_t samples = 0;                  // steps that are simulated with packets besides flows
  std::string reason;                   // one line
};

// Chooses a fidelity. `packet_seconds` is the wall time that all `different` steps take with
// packets (CostEstimate).
FidelityChoice ChooseFidelity(double packet_seconds, int64_t different, double budget_seconds);

// Returns a warning where a frame lasts so few nanoseconds that rates are inexact, as ns-3 counts
// whole nanoseconds; empty: no warning.
std::string ClockWarning(Fidelity fidelity, const Network& network);

// A PacketSampler simulates, at packet fidelity, every M-th of the fresh steps that it is offered,
// and always the first one.
class PacketSampler {
 public:
  // Takes at most `samples` of about `different` steps.
  PacketSampler(const fabric::EngineRequest& request, fabric::EngineFactory packet, int64_t samples,
                int64_t different);

  // Offers a step of training `label` that was just simulated afresh from `start` on, with the time
  // that it took. Returns true where it was taken; it is then the last of Samples().
  bool Offer(const std::string& label, uint64_t step, const fabric::StepTraffic& traffic,
             TimeNs start, TimeNs time);

  struct Sample {
    std::string label;
    uint64_t step = 0;
    TimeNs flow = 0;
    TimeNs packet = 0;
    template <class Archive>
    friend void Fields(Archive& archive, Sample& s) {
      archive(s.label, s.step, s.flow, s.packet);
    }
    // Returns the difference of flow from packet, as a fraction of packet.
    double Difference() const;
  };
  const std::vector<Sample>& Samples() const { return samples_; }
  int64_t Offered() const { return offered_; }
  // Continues from the samples of a sampler of the same run.
  void GoOn(int64_t offered, std::vector<Sample> samples) {
    offered_ = offered;
    samples_ = std::move(samples);
  }
  // Returns "flow against packet fidelity on 5 of 60 different steps: median +0.4 %, largest -3.1 %
  // (topk, step 12)".
  std::string Text() const;

 private:
  fabric::StepSimulator simulator_;
  int64_t limit_;
  int64_t every_;
  int64_t offered_ = 0;
  std::vector<Sample> samples_;
};

}  // namespace legacy
