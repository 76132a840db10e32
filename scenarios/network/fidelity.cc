#include "scenarios/network/fidelity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/programs/progress_line.h"

namespace legacy {

std::string ClockWarning(Fidelity fidelity, const Network& network) {
  constexpr double kShort = 100;  // nanoseconds
  // NICs and switches of RoCEv2 compute in picoseconds.
  if (fidelity != Fidelity::kPacket || network.request.transport.roce) return "";
  int64_t fastest = 0;
  for (const fabric::Link& link : network.topology.Links()) {
    for (const fabric::Port& port : link.ports) fastest = std::max(fastest, port.rateBps);
  }
  const int64_t frame = network.request.transport.FrameBytes();
  const double lasts = 8e9 * static_cast<double>(frame) / static_cast<double>(fastest);
  if (lasts >= kShort) return "";
  return fmt::format(
      "a frame of {} bytes lasts {:.3g} ns at {}, and ns-3 counts whole nanoseconds: rates "
      "may be off by 1 %, and ACKs take no time or whole nanoseconds",
      frame, lasts, FormatRate(fastest));
}

FidelityChoice ChooseFidelity(double packet_seconds, int64_t different, double budget_seconds) {
  if (Fidelities().front() != Fidelity::kPacket) {
    return {Fidelity::kFlow, 0, "this build has no ns-3"};
  }
  const std::string cost =
      fmt::format("packets take about {} of wall time, {} are allowed",
                  WallTimeInWords(packet_seconds), WallTimeInWords(budget_seconds));
  if (packet_seconds <= budget_seconds) return {Fidelity::kPacket, 0, cost};
  const double each = packet_seconds / static_cast<double>(std::max<int64_t>(1, different));
  const auto samples = static_cast<int64_t>(budget_seconds / each);
  if (samples == 0) return {Fidelity::kFlow, 0, cost + ": not even one step fits"};
  return {Fidelity::kFlow, samples,
          cost + fmt::format(": {} of {} different steps are simulated with packets too", samples,
                             different)};
}

PacketSampler::PacketSampler(const fabric::EngineRequest& request, fabric::EngineFactory packet,
                             int64_t samples, int64_t different)
    : simulator_(std::move(packet), request),
      limit_(samples),
      every_(std::max<int64_t>(1, (different + samples - 1) / std::max<int64_t>(1, samples))) {}

bool PacketSampler::Offer(const std::string& label, uint64_t step,
                          const fabric::StepTraffic& traffic, TimeNs start, TimeNs time) {
  const bool due = offered_++ % every_ == 0;
  if (!due || static_cast<int64_t>(samples_.size()) >= limit_) return false;
  samples_.push_back({label, step, time, simulator_.Simulate(traffic, step, start).total});
  return true;
}

double PacketSampler::Sample::Difference() const {
  return static_cast<double>(flow - packet) / static_cast<double>(std::max<TimeNs>(1, packet));
}

std::string PacketSampler::Text() const {
  if (samples_.empty()) return "no step was simulated at packet fidelity";
  std::vector<double> differences;
  for (const Sample& sample : samples_) differences.push_back(sample.Difference());
  std::sort(differences.begin(), differences.end());
  const Sample& worst =
      *std::max_element(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
        return std::abs(a.Difference()) < std::abs(b.Difference());
      });
  return fmt::format(
      "flow against packet fidelity on {} of {} different steps: median {:+.1f} %, largest {:+.1f} "
      "% ({}, step {})",
      samples_.size(), offered_, 100 * differences[differences.size() / 2],
      100 * worst.Difference(), worst.label, worst.step);
}

}  // namespace legacy
