#include "scenarios/network/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/csv.h"
#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {

// Tracks of a process; those of flows start at kSend.
constexpr int kDevice = 0;
constexpr int kWait = 1;
constexpr int kSend = 100;
constexpr int kReceive = 10000;
constexpr int kStream = 20000;  // kStream + 1000 stream + lane

// Returns the time in microseconds, the format's unit, with three decimals for nanoseconds.
std::string Stamp(TimeNs time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

std::string Quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::string Named(const TracedStep& step, const std::string& what) {
  return step.name.empty() ? what : step.name + ": " + what;
}

// A Job is work of a device after its backward pass. Jobs are in the order of arrival.
struct Job {
  TimeNs arrival = 0;
  TimeNs work = 0;
  std::string name;
};

std::vector<Job> LateJobs(const TracedStep& step, int worker) {
  std::vector<Job> jobs;
  for (size_t b = 0; b < step.traffic->buckets.size(); ++b) {
    const fabric::BucketTraffic& bucket = step.traffic->buckets[b];
    const fabric::BucketTiming& timing = step.timing->buckets[b];
    TimeNs done = bucket.ready[worker];
    for (size_t r = 0; r <= bucket.calls.size(); ++r) {
      const bool decode = r == bucket.calls.size();
      const std::vector<TimeNs>& work = decode ? bucket.decode : bucket.calls[r].computeBefore;
      if (!work.empty() && work[worker] > 0) {
        jobs.push_back({done, work[worker],
                        decode ? fmt::format("decode bucket {}", b)
                               : fmt::format("encode bucket {}, call {}", b, r)});
      }
      if (!decode) done = timing.callDone[r][worker];
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
  return jobs;
}

}  // namespace

Trace::Trace(std::vector<std::string> endpoints, std::set<int> shown)
    : endpoints_(std::move(endpoints)),
      shown_(std::move(shown)),
      content_{.sending = std::vector<std::vector<TimeNs>>(endpoints_.size()),
               .receiving = std::vector<std::vector<TimeNs>>(endpoints_.size())} {}

void Trace::Add(const TracedStep& step) {
  for (const int endpoint : shown_) {
    if (step.traffic && endpoint < step.traffic->workers) AddDevice(step, endpoint);
    if (step.plan && endpoint < static_cast<int>(step.ranks.size())) AddPlan(step, endpoint);
  }
  AddFlows(step);
}

void Trace::AddDevice(const TracedStep& step, int worker) {
  const fabric::StepTraffic& traffic = *step.traffic;
  TimeNs now = 0;
  const auto run = [&](const std::string& name, TimeNs end) {
    if (end > now) Slice(worker, kDevice, Named(step, name), step.start + now, step.start + end);
    now = std::max(now, end);
  };
  for (size_t b = 0; b < traffic.buckets.size(); ++b) {
    const TimeNs ready = traffic.buckets[b].ready[worker];
    run(fmt::format("compute bucket {}", b),
        ready - (step.encode.empty() ? 0 : step.encode[b][worker]));
    run(fmt::format("encode bucket {}", b), ready);
  }
  run("compute", traffic.deviceFree[worker]);
  const auto wait = [&](const char* name, TimeNs end) {
    if (end > now) Slice(worker, kWait, Named(step, name), step.start + now, step.start + end);
    now = std::max(now, end);
  };
  for (const Job& job : LateJobs(step, worker)) {
    wait("wait for the network", job.arrival);
    run(job.name, now + job.work);
  }
  wait("wait for the network", step.timing->finish[worker]);
  wait("wait for the others", step.timing->total);
}

// Receives are not drawn: they begin long before the message that they wait for.
void Trace::AddPlan(const TracedStep& step, int worker) {
  struct Drawn {
    TimeNs begin, end;
    const fabric::StepOperation* operation;
  };
  std::vector<Drawn> drawn;
  for (size_t r = 0; r < step.plan->roles.size(); ++r) {
    const fabric::StepRole& role = step.plan->roles[r];
    const auto at = std::ranges::find(role.ranks, step.ranks[worker]);
    if (at == role.ranks.end()) continue;
    for (size_t i = 0; i < role.operations.size(); ++i) {
      const fabric::OperationTiming& times = step.ran->roles[r][i];
      const auto place = static_cast<size_t>(at - role.ranks.begin());
      if (role.operations[i].kind == fabric::OperationKind::Receive) continue;
      if (times.end[place] == times.begin[place]) continue;
      drawn.push_back({times.begin[place], times.end[place], &role.operations[i]});
    }
  }
  std::ranges::stable_sort(drawn, {}, &Drawn::begin);
  const auto wait = [&](TimeNs from, TimeNs to) {
    if (to > from) Slice(worker, kWait, Named(step, "wait"), step.start + from, step.start + to);
  };
  TimeNs now = 0;
  std::map<int, std::vector<std::vector<TimeNs>>> lanes;  // of streams
  for (const auto& [begin, end, operation] : drawn) {
    int track = kDevice;
    if (operation->kind == fabric::OperationKind::Segment) {
      wait(now, begin);
      now = end;
    } else {
      auto& free = lanes.try_emplace(operation->stream, 1).first->second;
      track = kStream + 1000 * operation->stream + Lane(free, 0, begin, end);
      content_.streams[track] = step.plan->streams[operation->stream].name;
    }
    Slice(worker, track, Named(step, operation->name), step.start + begin, step.start + end);
  }
  wait(now, step.ran->total);
}

void Trace::AddFlows(const TracedStep& step) {
  std::vector<RecordedFlow> flows = step.flows;
  std::stable_sort(flows.begin(), flows.end(),
                   [](const RecordedFlow& a, const RecordedFlow& b) { return a.start < b.start; });
  for (const RecordedFlow& recorded : flows) {
    const fabric::Flow& flow = recorded.flow;
    const TimeNs start = step.start + recorded.start;
    const TimeNs end = step.start + recorded.end;
    const bool from = shown_.count(flow.source) > 0;
    const bool to = shown_.count(flow.destination) > 0;
    const std::string arguments = fmt::format(R"("bytes":{})", flow.bytes);
    int sender = 0;
    int receiver = 0;
    if (from) {
      sender = kSend + Lane(content_.sending, flow.source, start, end);
      Slice(flow.source, sender, fmt::format("to {}", flow.destination), start, end, arguments);
    }
    if (to) {
      receiver = kReceive + Lane(content_.receiving, flow.destination, start, end);
      Slice(flow.destination, receiver, fmt::format("from {}", flow.source), start, end, arguments);
    }
    if (from && to) {
      Arrow("s", flow.source, sender, start);
      Arrow("f", flow.destination, receiver, std::max(start, end - 1));  // inside its slice
      ++content_.arrows;
    }
  }
}

// Returns the lowest lane that is free from `start` on, because slices of one track must not
// overlap.
int Trace::Lane(std::vector<std::vector<TimeNs>>& lanes, int endpoint, TimeNs start, TimeNs end) {
  std::vector<TimeNs>& free = lanes[endpoint];
  size_t lane = 0;
  while (lane < free.size() && free[lane] > start) ++lane;
  if (lane == free.size()) free.push_back(0);
  free[lane] = end;
  return static_cast<int>(lane);
}

void Trace::Slice(int endpoint, int track, const std::string& name, TimeNs start, TimeNs end,
                  const std::string& arguments) {
  Event(fmt::format(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{{{}}})",
                    endpoint, track, Stamp(start), Stamp(end - start), Quoted(name), arguments));
}

void Trace::Arrow(const char* phase, int endpoint, int track, TimeNs when) {
  Event(fmt::format(
      R"("ph":"{}","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"flow","cat":"flow")", phase,
      content_.arrows, endpoint, track, Stamp(when)));
}

void Trace::AddCounter(const std::string& name, const std::string& unit, TimeNs when,
                       double value) {
  content_.counters = true;
  Event(fmt::format(R"("ph":"C","pid":{},"tid":0,"ts":{},"name":{},"args":{{{}:{}}})",
                    endpoints_.size(), Stamp(when), Quoted(name), Quoted(unit),
                    analysis::CsvNumber(value)));
}

void Trace::Event(const std::string& fields) {
  content_.events += content_.events.empty() ? "{" : ",\n{";
  content_.events += fields + "}";
}

std::string Trace::Finish() {
  const auto label = [&](int endpoint, int track, const char* what, const std::string& name) {
    Event(fmt::format(R"("ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}})", endpoint,
                      track, what, Quoted(name)));
  };
  for (const int endpoint : shown_) {
    label(endpoint, kDevice, "process_name", endpoints_[endpoint]);
    label(endpoint, kDevice, "thread_name", "device");
    label(endpoint, kWait, "thread_name", "wait");
    for (const auto& [track, name] : content_.streams) label(endpoint, track, "thread_name", name);
    for (size_t lane = 0; lane < content_.sending[endpoint].size(); ++lane) {
      label(endpoint, kSend + static_cast<int>(lane), "thread_name", fmt::format("send {}", lane));
    }
    for (size_t lane = 0; lane < content_.receiving[endpoint].size(); ++lane) {
      label(endpoint, kReceive + static_cast<int>(lane), "thread_name",
            fmt::format("receive {}", lane));
    }
    Event(fmt::format(
        R"("ph":"M","pid":{0},"tid":0,"name":"process_sort_index","args":{{"sort_index":{0}}})",
        endpoint));
  }
  if (content_.counters) label(static_cast<int>(endpoints_.size()), 0, "process_name", "links");
  return R"({"displayTimeUnit":"ns","traceEvents":[)"
         "\n" +
         content_.events + "\n]}\n";
}

std::set<int> ParseEndpoints(const std::string& text, int count, const std::string& option) {
  std::set<int> endpoints;
  const auto number = [&](const std::string& item) {
    return static_cast<int>(ParseInteger(item, option, 0, count - 1));
  };
  for (const std::string& item : SplitList(text)) {
    const size_t dash = item.find('-', 1);
    const bool all = item == "all";
    const int first = all ? 0 : number(item.substr(0, dash));
    const int last = all                         ? count - 1
                     : dash == std::string::npos ? first
                                                 : number(item.substr(dash + 1));
    if (last < first) throw Error(option, item, "ranges that ascend");
    for (int endpoint = first; endpoint <= last; ++endpoint) endpoints.insert(endpoint);
  }
  if (endpoints.empty()) throw Error(option, text, "numbers such as 0-3,7, or all");
  return endpoints;
}

std::vector<std::string> EndpointNames(const fabric::Topology& topology,
                                       const fabric::Placement& placement) {
  std::vector<std::string> names;
  const auto add = [&](const char* what, const std::vector<int>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      names.push_back(fmt::format("{} {} ({})", what, i, topology.NodeName(nodes[i])));
    }
  };
  add("worker", placement.hosts);
  add("server", placement.servers);
  add("aggregator", placement.aggregators);
  return names;
}

}  // namespace legacy
