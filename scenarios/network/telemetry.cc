#include "scenarios/network/telemetry.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "base/units.h"
#include "scenarios/network/forwarding_engine.h"

namespace legacy {
namespace {

constexpr size_t kMostValues = 50'000'000;  // links times samples: 1.2 GB

}  // namespace

double TelemetrySample::Rate(fabric::DirectedLink link) const {
  return 8e9 * links[link].bytes / static_cast<double>(end - start);
}

// A SampledEngine stops another engine at the end of each window.
class TelemetryRecorder::SampledEngine final : public ForwardingEngine {
 public:
  SampledEngine(std::unique_ptr<fabric::Engine> engine, TelemetryRecorder& recorder)
      : ForwardingEngine(std::move(engine)), recorder_(recorder) {}

  void Submit(fabric::FlowGraph& graph, TimeNs start) override {
    recorder_.samples_.clear();
    before_ = inner().Activity();
    origin_ = last_ = start;
    inner().Submit(graph, start);
  }

  bool RunUntil(TimeNs until) override {
    if (before_.empty()) return inner().RunUntil(until);
    for (;;) {
      const TimeNs next = Later(last_, recorder_.every_);
      const TimeNs stop = std::min(next, until);
      const bool done = inner().RunUntil(stop);
      if (done || stop == next) Sample(done ? std::min(inner().Now(), stop) : next);
      if (done || stop == until) return done;
    }
  }

 private:
  void Sample(TimeNs now) {
    if (now <= last_) return;
    TelemetrySample sample{last_ - origin_, now - origin_, inner().Activity()};
    if (recorder_.with_roce_) sample.roce = inner().Roce();
    std::vector<fabric::LinkActivity> present = sample.links;
    for (size_t i = 0; i < present.size(); ++i) sample.links[i].bytes -= before_[i].bytes;
    before_ = std::move(present);
    last_ = now;
    if ((recorder_.samples_.size() + 1) * before_.size() > kMostValues) {
      throw Error(recorder_.option_, FormatTime(recorder_.every_),
                  "a longer window: " + std::to_string(recorder_.samples_.size()) + " windows of " +
                      std::to_string(before_.size()) + " links were recorded, and no more fit");
    }
    recorder_.samples_.push_back(std::move(sample));
  }

  TelemetryRecorder& recorder_;
  std::vector<fabric::LinkActivity> before_;  // state at the end of the last window
  TimeNs origin_ = 0;
  TimeNs last_ = 0;
};

fabric::EngineFactory TelemetryRecorder::Wrap(fabric::EngineFactory factory) {
  return [this, factory = std::move(factory)](const fabric::EngineRequest& request) {
    return std::make_unique<SampledEngine>(factory(request), *this);
  };
}

std::vector<TelemetrySample> TelemetryRecorder::Take() { return std::exchange(samples_, {}); }

std::vector<fabric::DirectedLink> ChooseLinks(const std::string& text, const std::string& option,
                                              const fabric::Topology& topology,
                                              const std::vector<TelemetrySample>& samples) {
  const size_t count = 2 * topology.Links().size();
  std::vector<fabric::DirectedLink> links(count);
  std::iota(links.begin(), links.end(), 0);
  if (text == "all") return links;
  const std::string busiest = "busiest:";
  if (text.starts_with(busiest)) {
    const auto wanted = static_cast<size_t>(
        ParseInteger(text.substr(busiest.size()), option + ": busiest", 1, 1'000'000));
    std::vector<double> bytes(count, 0);
    for (const TelemetrySample& sample : samples) {
      for (size_t i = 0; i < count; ++i) bytes[i] += sample.links[i].bytes;
    }
    std::stable_sort(links.begin(), links.end(), [&](int a, int b) { return bytes[a] > bytes[b]; });
    links.resize(std::min(wanted, count));
    return links;
  }
  std::map<std::string, fabric::DirectedLink> names;
  for (const fabric::DirectedLink link : links) names.emplace(topology.LinkName(link), link);
  std::vector<fabric::DirectedLink> chosen;
  for (const std::string& name : SplitList(text)) {
    const auto found = names.find(name);
    if (found == names.end()) {
      throw Error(option, name,
                  "all, busiest:N, or names of links such as " + topology.LinkName(0));
    }
    chosen.push_back(found->second);
  }
  if (chosen.empty()) throw Error(option, text, "all, busiest:N, or names of links");
  return chosen;
}

}  // namespace legacy
