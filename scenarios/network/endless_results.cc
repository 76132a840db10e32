#include "scenarios/network/endless_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/table_text.h"
#include "base/units.h"
#include "scenarios/network/compared_results.h"

namespace legacy {
namespace {

// A Line is a row of the table. Its rates are in bits per second.
struct Line {
  int flows = 0;
  double total = 0;
  double least = 0;
  double most = 0;
  double fairness = 0;
};

Line LineOf(const ThroughputWindow& window) {
  return {static_cast<int>(std::count(window.active.begin(), window.active.end(), true)),
          window.Total(), window.Least(), window.Most(), window.Fairness()};
}

// Returns the means over time of the total and of the fairness, and the lowest and highest mean
// rate of a flow in the windows in which it was active.
Line MeanOf(const std::vector<ThroughputWindow>& windows) {
  ThroughputWindow flows = windows.front();
  std::fill(flows.rates.begin(), flows.rates.end(), 0);
  std::fill(flows.active.begin(), flows.active.end(), false);
  std::vector<double> active(flows.rates.size(), 0);
  Line mean;
  double time = 0;
  for (const ThroughputWindow& window : windows) {
    const auto length = static_cast<double>(window.end - window.start);
    const Line line = LineOf(window);
    mean.total += line.total * length;
    mean.fairness += line.fairness * length;
    time += length;
    for (size_t f = 0; f < active.size(); ++f) {
      if (!window.active[f]) continue;
      flows.active[f] = true;
      flows.rates[f] += window.rates[f] * length;
      active[f] += length;
    }
  }
  for (size_t f = 0; f < active.size(); ++f) flows.rates[f] /= std::max(1.0, active[f]);
  const Line line = LineOf(flows);
  return {line.flows, mean.total / time, line.least, line.most, mean.fairness / time};
}

std::vector<std::string> RowOf(const std::string& until, const Line& line) {
  return {until,
          std::to_string(line.flows),
          RateText(line.total),
          RateText(line.least),
          RateText(line.most),
          fmt::format("{:.4f}", line.fairness)};
}

}  // namespace

std::vector<Row> ThroughputRows(const PreparedExperiment& prepared,
                                const std::vector<Measurement>& measurements) {
  const Network& network = *prepared.network;
  const auto name = [&](int worker) {
    return network.topology.NodeName(network.placement.NodeOf(worker));
  };
  std::vector<Row> rows;
  for (const Measurement& m : measurements) {
    for (const ThroughputWindow& window : m.windows) {
      for (size_t f = 0; f < window.rates.size(); ++f) {
        Row row;
        row["fidelity"] = NameOf(m.fidelity);
        row["start_seconds"] = InSeconds(window.start);
        row["end_seconds"] = InSeconds(window.end);
        row["flow"] = f;
        row["source"] = name(prepared.flows[f].source);
        row["destination"] = name(prepared.flows[f].destination);
        row["active"] = window.active[f] ? 1 : 0;
        row["bits_per_second"] = window.rates[f];
        row["jain_fairness"] = window.Fairness();
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

std::string ThroughputLines(const std::vector<Measurement>& measurements, size_t columns) {
  std::string text;
  for (const Measurement& m : measurements) {
    analysis::Table table;
    table.title =
        fmt::format("{} fidelity, {:.2f} s of wall time", NameOf(m.fidelity), m.wall_seconds);
    table.header = {"until", "flows", "total", "least", "most", "fairness"};
    for (const ThroughputWindow& window : m.windows) {
      table.rows.push_back(RowOf(FormatTime(window.end), LineOf(window)));
    }
    table.rows.push_back(RowOf("mean", MeanOf(m.windows)));
    text += "\n" + analysis::RenderText(std::move(table), columns);
  }
  return text;
}

}  // namespace legacy
