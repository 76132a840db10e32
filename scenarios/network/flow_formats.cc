#include "scenarios/network/flow_formats.h"

#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/words.h"

namespace legacy {
namespace {

constexpr int64_t kMostNodes = 1 << 24;
constexpr double kLatestStart = 1e9;  // seconds; fits int64 nanoseconds

// Throws Error if a list has a different number of flows than it announced.
void CheckCount(const std::string& where, int64_t announced, size_t found) {
  if (announced == static_cast<int64_t>(found)) return;
  throw Error(where, std::to_string(found) + " flows",
              std::to_string(announced) + ", as the file announces");
}

// Reads "0->5", the first word of a connection.
void ReadEnds(const WordLines& lines, ListedFlow& flow) {
  const std::string word = lines.Word(0);
  const size_t arrow = word.find("->");
  flow.where = lines.Location(0);
  if (arrow == std::string::npos) {
    throw Error(flow.where, Shown(word), "a connection such as 0->5");
  }
  const std::string_view text(word);
  flow.source = ParseWhole(text.substr(0, arrow), flow.where + ": source", 0, kMostNodes);
  flow.destination =
      ParseWhole(text.substr(arrow + 2), flow.where + ": destination", 0, kMostNodes);
}

ListedFlow ReadConnection(const WordLines& lines, fabric::ImportReport& report) {
  constexpr double kPicoseconds = 1e-12;
  ListedFlow flow;
  ReadEnds(lines, flow);
  bool started = false;
  for (size_t i = 1; i < lines.Count(); i += 2) {
    const std::string key = lines.Word(i);
    if (key.find("trigger") != std::string::npos) {
      throw Error(lines.Location(i), Shown(key),
                  "start: flows that other flows trigger cannot be listed");
    }
    if (key != "start" && key != "size" && key != "id" && key != "prio") {
      throw Error(lines.Location(i), Shown(key), "start, size, id, prio");
    }
    if (i + 1 == lines.Count()) throw Error(lines.Location(i) + ": " + key, "nothing", "a number");
    if (key == "start") {
      const double seconds = kPicoseconds * lines.Real(i + 1, key, 0, kLatestStart / kPicoseconds);
      flow.start = std::llround(1e9 * seconds);
      started = true;
    } else if (key == "size") {
      flow.bytes = lines.Whole(i + 1, key, 0, kMostBytes);
    } else {
      lines.Whole(i + 1, key, 0, INT64_MAX);
      report.Skip("flows", key);
    }
  }
  if (!started) throw Error(flow.where + ": start", "none", "a time in picoseconds");
  return flow;
}

ListedFlows ReadConnections(const std::string& path, std::string text) {
  WordLines lines(path, std::move(text), {'#'});
  ListedFlows list;
  int64_t announced = -1;
  while (lines.Advance()) {
    const std::string key = lines.Word(0);
    if (key == "Nodes" || key == "Connections" || key == "Triggers" || key == "Failures") {
      if (lines.Count() != 2) throw Error(lines.Location(0), lines.Line(), key + " and a number");
      const int64_t number = lines.Whole(1, key, 0, INT32_MAX);
      if (key == "Nodes") {
        list.nodes = number;
        list.nodes_where = lines.Location(1) + ": Nodes";
      } else if (key == "Connections") {
        announced = number;
      } else if (number > 0) {
        throw Error(lines.Location(1) + ": " + key, std::to_string(number),
                    "0: a list of flows has no triggers and no failures");
      }
    } else if (key == "trigger" || key == "failure") {
      throw Error(lines.Location(0), key,
                  "connections: a list of flows has no triggers and no "
                  "failures");
    } else {
      list.flows.push_back(ReadConnection(lines, list.report));
    }
  }
  if (announced < 0) throw Error(lines.End() + ": Connections", "none", "their number");
  CheckCount(lines.End(), announced, list.flows.size());
  return list;
}

ListedFlows ReadHpccFlows(const std::string& path, std::string text) {
  WordLines lines(path, std::move(text), {'#'});
  lines.Next("the number of flows", 1);
  const int64_t announced = lines.Whole(0, "number of flows", 0, INT32_MAX);
  ListedFlows list;
  while (lines.Advance()) {
    if (static_cast<int64_t>(list.flows.size()) == announced) {
      list.report.Skip("the list", "lines after the flows announced");
      continue;
    }
    constexpr size_t kWords = 6;
    if (lines.Count() != kWords) {
      throw Error(lines.Location(0), lines.Line(),
                  "source, destination, group, port, bytes, start");
    }
    ListedFlow flow;
    flow.where = lines.Location(0);
    flow.source = lines.Whole(0, "source", 0, kMostNodes);
    flow.destination = lines.Whole(1, "destination", 0, kMostNodes);
    lines.Whole(2, "group", 0, INT32_MAX);
    lines.Whole(3, "port", 0, 65535);
    list.report.Skip("flows", "group");
    list.report.Skip("flows", "port");
    flow.bytes = lines.Whole(4, "bytes", 1, kMostBytes);
    flow.start = std::llround(1e9 * lines.Real(5, "start", 0, kLatestStart));
    list.flows.push_back(std::move(flow));
  }
  CheckCount(lines.End(), announced, list.flows.size());
  return list;
}

}  // namespace

FlowReader FlowReaderOf(const std::string& text) {
  constexpr size_t kHead = 4096;  // comments before a list may be this long
  WordLines lines("", text.substr(0, kHead), {'#'});
  if (!lines.Advance()) return nullptr;
  const std::string first = lines.Word(0);
  if (first == "Nodes" || first == "Connections") return ReadConnections;
  const bool number = first.find_first_not_of("0123456789") == std::string::npos;
  return number && lines.Count() == 1 ? ReadHpccFlows : nullptr;
}

}  // namespace legacy
