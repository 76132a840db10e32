// Telemetry is what links do over time: their rates and queues, in windows of one length.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

// A TelemetrySample has what links did in a window of time, from the start of the last graph on.
struct TelemetrySample {
  TimeNs start = 0;
  TimeNs end = 0;
  // By directed link: bytes sent in the window, rate and queue at its end.
  std::vector<fabric::LinkActivity> links;
  // Queue pairs and buffers at its end, where they are recorded.
  fabric::RoceActivity roce = {};

  // Returns the link's mean rate in the window, bits per second.
  double Rate(fabric::DirectedLink link) const;
};

// A TelemetryRecorder keeps the samples of the last graph. Its only cost is reading all links once
// in a window.
class TelemetryRecorder {
 public:
  // `with_roce`: queue pairs and buffers are recorded too. `option` is for messages.
  explicit TelemetryRecorder(TimeNs every, bool with_roce = false,
                             std::string option = "--telemetry-every")
      : every_(every), with_roce_(with_roce), option_(std::move(option)) {}

  // Returns the same engines, which record into this object; it outlives them. Engines that know
  // nothing between the start of a flow and its end record nothing.
  fabric::EngineFactory Wrap(fabric::EngineFactory factory);
  // Returns the samples, the last of which may be shorter.
  std::vector<TelemetrySample> Take();

 private:
  class SampledEngine;

  TimeNs every_;
  bool with_roce_;
  std::string option_;
  std::vector<TelemetrySample> samples_;
};

// Returns directed links by text: "all", "busiest:N" (those with most bytes in the samples), or
// names as in links.csv, "leaf0>spine1,leaf1>spine1". Throws Error naming `option`.
std::vector<fabric::DirectedLink> ChooseLinks(const std::string& text, const std::string& option,
                                              const fabric::Topology& topology,
                                              const std::vector<TelemetrySample>& samples);

}  // namespace legacy
