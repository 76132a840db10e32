#include "analysis/federated/round_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace legacy::analysis {
namespace {

constexpr size_t kDeciles = 10;
constexpr double kBytesPerMb = 1e6;

// Puts values in order; NaN, which files may have, comes last.
bool Before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

double Megabytes(int64_t bytes) { return static_cast<double>(bytes) / kBytesPerMb; }

// Splits rows of clients where a training begins.
std::vector<std::span<const ClientRow>> Trainings(std::span<const ClientRow> clients) {
  std::vector<std::span<const ClientRow>> parts;
  size_t from = 0;
  for (size_t i = 1; i <= clients.size(); ++i) {
    if (i < clients.size() && clients[i].client != 0) continue;
    parts.push_back(clients.subspan(from, i - from));
    from = i;
  }
  return parts;
}

bool HasCritical(const RoundRow& row) {
  return row.critical_client && row.critical_dispatched && row.critical_downloaded &&
         row.critical_worked && row.critical_uploaded;
}

// Adds a client to its part. `predicted` collects for the median.
void Add(ClientShare& share, std::vector<double>& predicted, const ClientRow& client) {
  ++share.clients;
  share.tasks += static_cast<double>(client.tasks);
  share.counted += static_cast<double>(client.counted);
  share.never += client.counted == 0;
  share.down_bytes += static_cast<double>(client.down_bytes);
  share.up_bytes += static_cast<double>(client.up_bytes);
  share.usd += client.usd;
  predicted.push_back(client.predicted_seconds);
}

// A Division collects clients by part.
class Division {
 public:
  explicit Division(size_t parts) : shares_(parts), predicted_(parts) {}

  // `part_of` has the part of each client of a training.
  void AddTraining(std::span<const ClientRow> clients, const std::vector<size_t>& part_of,
                   std::span<const TaskSeconds> tasks) {
    for (size_t i = 0; i < clients.size(); ++i) {
      Add(shares_[part_of[i]], predicted_[part_of[i]], clients[i]);
    }
    for (const TaskSeconds& task : tasks) {
      const auto client = static_cast<size_t>(task.client);
      if (client < part_of.size()) shares_[part_of[client]].seconds.push_back(task.seconds);
    }
  }

  std::vector<ClientShare> Take() {
    double tasks = 0, counted = 0;
    for (const ClientShare& share : shares_) {
      tasks += share.tasks;
      counted += share.counted;
    }
    const auto part = [](double own, double all) -> std::optional<double> {
      if (all == 0) return std::nullopt;
      return own / all;
    };
    for (size_t i = 0; i < shares_.size(); ++i) {
      shares_[i].task_share = part(shares_[i].tasks, tasks);
      shares_[i].counted_share = part(shares_[i].counted, counted);
      if (!predicted_[i].empty()) shares_[i].predicted = Quantile(predicted_[i], 0.5);
    }
    return std::move(shares_);
  }

  std::string& NameOf(size_t part) { return shares_[part].name; }

 private:
  std::vector<ClientShare> shares_;
  std::vector<std::vector<double>> predicted_;
};

}  // namespace

std::string Figure(double value) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (std::abs(value) >= 1e15 || std::abs(value) < 1e-6) return fmt::format("{:.3g}", value);
  const int digits = 3 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::clamp(digits, 0, 9));
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Percent(std::optional<double> share) { return share ? Percent(*share) : "-"; }

double Quantile(std::vector<double> values, double share) {
  std::ranges::sort(values, Before);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double part = place - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

RoundFigures FiguresOf(std::span<const RoundRow> rounds) {
  RoundFigures figures;
  bool begins_earlier = false;
  for (const RoundRow& row : rounds) {
    const double seconds = row.end - row.start;
    figures.seconds.push_back(seconds);
    if (HasCritical(row)) {
      figures.down.push_back(*row.critical_downloaded - *row.critical_dispatched);
      figures.work.push_back(*row.critical_worked - *row.critical_downloaded);
      figures.up.push_back(*row.critical_uploaded - *row.critical_worked);
      const double wait = seconds - (*row.critical_uploaded - *row.critical_dispatched);
      figures.wait.push_back(std::round(wait * 1e9) * 1e-9);  // times are of whole nanoseconds
      begins_earlier |= *row.critical_dispatched < row.start;
    }
    figures.started.push_back(static_cast<double>(row.started));
    figures.counted.push_back(static_cast<double>(row.counted));
    figures.lost.push_back(static_cast<double>(row.lost));
    figures.late.push_back(static_cast<double>(row.late));
    figures.interrupted.push_back(static_cast<double>(row.interrupted));
    figures.cancelled.push_back(static_cast<double>(row.cancelled));
    figures.stale.push_back(static_cast<double>(row.stale));
    figures.staleness.push_back(row.staleness_mean);
    if (row.residual_age) figures.residual_age.push_back(*row.residual_age);
    if (row.residual_norm) figures.residual_norm.push_back(*row.residual_norm);
    figures.mb_down.push_back(Megabytes(row.down_bytes));
    figures.mb_up.push_back(Megabytes(row.up_bytes));
    figures.usd.push_back(row.usd);
    figures.usd_hours.push_back(row.usd_hours);
    figures.hours.push_back(row.client_seconds / 3600);
  }
  if (begins_earlier) figures.wait.clear();
  return figures;
}

RoundTotals TotalsTo(std::span<const RoundRow* const> rounds, int64_t version) {
  RoundTotals totals;
  double seconds = 0;
  for (const RoundRow* row : rounds) {
    if (row->version > version) break;
    ++totals.rounds;
    totals.usd += row->usd + row->usd_hours;
    seconds += row->client_seconds;
  }
  totals.client_hours = seconds / 3600;
  return totals;
}

std::vector<Measure> MeasuresOf(const RoundFigures& figures) {
  return {{"round s", figures.seconds, false},
          {"download s", figures.down, false},
          {"work s", figures.work, false},
          {"upload s", figures.up, false},
          {"wait s", figures.wait, false},
          {"tasks started", figures.started, true},
          {"counted", figures.counted, true},
          {"lost", figures.lost, true},
          {"late", figures.late, true},
          {"interrupted", figures.interrupted, true},
          {"cancelled", figures.cancelled, true},
          {"stale", figures.stale, true},
          {"staleness", figures.staleness, false},
          {"MB down (wire)", figures.mb_down, true},
          {"MB up (wire)", figures.mb_up, true},
          {"USD of transfers", figures.usd, true},
          {"USD of client hours", figures.usd_hours, true},
          {"client hours", figures.hours, true}};
}

std::vector<ClientShare> SharesByGroup(std::span<const ClientRow> clients,
                                       std::span<const std::vector<TaskSeconds>> tasks) {
  std::map<std::string, size_t> groups;
  std::vector<std::string> names;
  for (const ClientRow& client : clients) {
    if (groups.try_emplace(client.group, names.size()).second) names.push_back(client.group);
  }
  Division division(names.size());
  for (size_t i = 0; i < names.size(); ++i) division.NameOf(i) = names[i];
  const auto trainings = Trainings(clients);
  for (size_t i = 0; i < trainings.size(); ++i) {
    std::vector<size_t> part_of;
    for (const ClientRow& client : trainings[i]) part_of.push_back(groups.at(client.group));
    division.AddTraining(trainings[i], part_of, tasks[i]);
  }
  return division.Take();
}

std::vector<ClientShare> SharesByDecile(std::span<const ClientRow> clients,
                                        std::span<const std::vector<TaskSeconds>> tasks) {
  Division division(kDeciles);
  for (size_t i = 0; i < kDeciles; ++i) division.NameOf(i) = std::to_string(i + 1);
  const auto trainings = Trainings(clients);
  for (size_t i = 0; i < trainings.size(); ++i) {
    const std::span<const ClientRow> rows = trainings[i];
    const bool predicted = std::ranges::any_of(
        rows, [](const ClientRow& client) { return client.predicted_seconds > 0; });
    if (rows.size() < kDeciles || !predicted) return {};
    std::vector<size_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, Before,
                             [&](size_t client) { return rows[client].predicted_seconds; });
    std::vector<size_t> part_of(rows.size());
    for (size_t part = 0; part < kDeciles; ++part) {
      const size_t from = part * rows.size() / kDeciles, to = (part + 1) * rows.size() / kDeciles;
      for (size_t k = from; k < to; ++k) part_of[order[k]] = part;
    }
    division.AddTraining(rows, part_of, tasks[i]);
  }
  return trainings.empty() ? std::vector<ClientShare>() : division.Take();
}

namespace {

// SlowClients are the slowest tenth of the clients by their predicted tasks. If clients with equal
// predictions would fall on both sides of that limit, SlowClients are the clients that are slower
// than these; if there are none, they are the equal ones.
class SlowClients {
 public:
  explicit SlowClients(std::vector<double> predicted) : clients_(predicted.size()) {
    if (clients_ < kFewestClients) return;
    const auto [low, high] = std::ranges::minmax(predicted);
    equal_ = low == high;
    from_ = Quantile(predicted, 0.9);
    const auto count = [&] {
      return static_cast<size_t>(
          std::ranges::count_if(predicted, [&](double seconds) { return IsSlow(seconds); }));
    };
    is_tenth_ = count() <= clients_ / 10 + 1;
    beyond_ = !is_tenth_ && high > from_;
    count_ = count();
  }

  bool Has(const ClientRow& client) const { return IsSlow(client.predicted_seconds); }
  // Returns which part of the rounds they end, in a line; "" if there are few clients.
  std::string Text(double part) const {
    if (clients_ < kFewestClients) return "";
    if (equal_) return "\nAll clients are equal: none is predicted to be slower than others.";
    const std::string which = is_tenth_
                                  ? "tenth"
                                  : fmt::format("{:.2g} %", 100 * static_cast<double>(count_) /
                                                                static_cast<double>(clients_));
    return fmt::format("\nThe slowest {} of the clients ends {:.0f} % of the rounds.", which,
                       100 * part);
  }

 private:
  static constexpr size_t kFewestClients = 20;  // with fewer, a tenth is at most one client

  bool IsSlow(double seconds) const { return beyond_ ? seconds > from_ : seconds >= from_; }

  size_t clients_;
  size_t count_ = 0;
  double from_ = 0;
  bool equal_ = false;
  bool is_tenth_ = false;
  bool beyond_ = false;  // true: only those that take longer than from_
};

// Waits sum up what the rounds of a training waited for, in seconds.
struct Waits {
  std::array<double, 4> parts{};  // download, work, upload of the critical task, after its arrival
  double opening = 0;             // handshakes and slow start
  double shared = 0;              // rates below the mean, and sharing lines
  bool splits = false;            // true if predictions have handshakes and slow start
  double rounds = 0;              // rounds that an arrival ended
  double slow = 0;                // rounds that one of the slow clients ended
  std::map<std::string, int64_t> by_group;
};

Waits WaitsOf(std::span<const RoundRow> rounds, std::span<const ClientRow> clients,
              const SlowClients& slow_clients) {
  Waits waits;
  for (const ClientRow& client : clients) waits.by_group[client.group];
  for (const RoundRow& row : rounds) {
    if (!HasCritical(row)) continue;
    const double parts[] = {*row.critical_downloaded - *row.critical_dispatched,
                            *row.critical_worked - *row.critical_downloaded,
                            *row.critical_uploaded - *row.critical_worked,
                            std::max(0.0, row.end - *row.critical_uploaded)};
    for (size_t i = 0; i < waits.parts.size(); ++i) waits.parts[i] += parts[i];
    ++waits.rounds;
    const auto number = static_cast<size_t>(*row.critical_client);
    if (number >= clients.size()) continue;
    const ClientRow& client = clients[number];
    waits.shared +=
        std::max(0.0, *row.critical_uploaded - *row.critical_dispatched - client.predicted_seconds);
    waits.opening += client.opening_seconds.value_or(0);
    waits.splits = waits.splits || client.opening_seconds;
    ++waits.by_group[client.group];
    waits.slow += slow_clients.Has(client);
  }
  return waits;
}

std::string PercentOf(double part, double all) { return fmt::format("{:.0f} %", 100 * part / all); }

}  // namespace

std::string WaitsFor(std::span<const RoundRow> rounds, std::span<const ClientRow> clients) {
  std::vector<double> predicted;
  for (const ClientRow& client : clients) predicted.push_back(client.predicted_seconds);
  const SlowClients slow_clients(std::move(predicted));
  const Waits waits = WaitsOf(rounds, clients, slow_clients);
  const auto& parts = waits.parts;
  const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (waits.rounds == 0) return "No arrival of an update ended a round.";
  if (all == 0) return "Rounds take no time.";
  std::string text = fmt::format(
      "A round waits for its last counted task: {} downloads, {} work, {} uploads, {} after its "
      "arrival.",
      PercentOf(parts[0], all), PercentOf(parts[1], all), PercentOf(parts[2], all),
      PercentOf(parts[3], all));
  if (clients.empty()) return text;
  text += waits.splits
              ? fmt::format(
                    "\n{} of that is handshakes and slow start, and {} rates below the mean and "
                    "sharing lines.",
                    PercentOf(waits.opening, all), PercentOf(waits.shared, all))
              : fmt::format(
                    "\n{} of that is handshakes, slow start, rates below the mean, and sharing "
                    "lines.",
                    PercentOf(waits.shared, all));
  text += slow_clients.Text(waits.slow / waits.rounds);
  if (waits.by_group.size() > 1) {
    const auto most = std::ranges::max_element(waits.by_group, {},
                                               [](const auto& group) { return group.second; });
    text += fmt::format("\nGroup {} ends {} of the rounds.", most->first,
                        PercentOf(static_cast<double>(most->second), waits.rounds));
  }
  return text;
}

}  // namespace legacy::analysis
