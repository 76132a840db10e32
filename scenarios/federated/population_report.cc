#include "scenarios/federated/population_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/csv.h"
#include "ns3-module/fabric/tasks/candidates.h"
#include "scenarios/federated/plan_report.h"

namespace legacy {
namespace {

using analysis::Table;

constexpr int kTimes = 24;

// Returns the median, with the 5th and 95th percentiles in brackets if these differ.
std::string Spread(const std::vector<double>& values, double unit) {
  const double low = Quantile(values, 0.05), high = Quantile(values, 0.95);
  const double middle = Quantile(values, 0.5);
  if (low == high) return fmt::format("{:.4g}", middle / unit);
  return fmt::format("{:.4g} ({:.3g} to {:.3g})", middle / unit, low / unit, high / unit);
}

double MeanRate(const fabric::Port& port) {
  return static_cast<double>(port.schedule ? port.schedule->MeanRate() : port.rateBps);
}

}  // namespace

PopulationView ViewPopulation(const fabric::Population& population, const std::string& availability,
                              uint64_t seed) {
  PopulationView view;
  const fabric::ClientAvailability answers(population, availability, seed);
  for (const fabric::Group& group : population.Groups()) {
    view.groups.push_back({.name = group.name, .clients = group.count});
    view.groups.back().available.assign(kTimes, 0);
  }
  view.clients = population.Clients();
  for (int i = 0; i < kTimes; ++i) view.hours.push_back(24.0 * i / kTimes);
  const int64_t step = (view.clients + kMostViewed - 1) / kMostViewed;
  for (int64_t number = 0; number < view.clients; number += step) {
    const fabric::Client client = population.At(number);
    PopulationView::Group& group = view.groups[client.group];
    group.down.push_back(MeanRate(client.down));
    group.up.push_back(MeanRate(client.up));
    group.delay.push_back(static_cast<double>(client.delay));
    group.slowdown.push_back(client.slowdown);
    group.traced += client.down.schedule || client.up.schedule;
    for (int i = 0; i < kTimes; ++i) {
      const auto time = fabric::kDay + static_cast<TimeNs>(i) * (fabric::kDay / kTimes);
      group.available[i] += answers.Available(number, time);
    }
    ++view.looked_at;
  }
  for (PopulationView::Group& group : view.groups) {
    for (double& share : group.available) {
      share /= std::max<double>(1, static_cast<double>(group.down.size()));
    }
  }
  return view;
}

std::vector<Table> PopulationTables(const PopulationView& view) {
  Table lines{.title = "Clients: medians, and 5 to 95 % of them",
              .header = {"group", "clients", "down Mbit/s", "up Mbit/s", "delay ms", "slowdown",
                         "lines with traces"},
              .rows = {}};
  Table day{.title = "Available clients over a day (UTC)",
            .header = {"group", "mean", "0:00", "4:00", "8:00", "12:00", "16:00", "20:00"},
            .rows = {}};
  for (const PopulationView::Group& group : view.groups) {
    if (group.down.empty()) {
      lines.rows.push_back({group.name, std::to_string(group.clients), "-", "-", "-", "-", "-"});
      continue;
    }
    const auto traced = static_cast<double>(group.traced) / static_cast<double>(group.down.size());
    lines.rows.push_back({group.name, std::to_string(group.clients), Spread(group.down, 1e6),
                          Spread(group.up, 1e6), Spread(group.delay, 1e6),
                          Spread(group.slowdown, 1), fmt::format("{:.0f} %", 100 * traced)});
    double mean = 0;
    for (const double share : group.available) mean += share / kTimes;
    std::vector<std::string> row{group.name, fmt::format("{:.1f} %", 100 * mean)};
    for (int hour = 0; hour < 24; hour += 4) {
      row.push_back(fmt::format("{:.1f} %", 100 * group.available[hour]));
    }
    day.rows.push_back(row);
  }
  return {lines, day};
}

std::string PopulationCsv(const fabric::Population& population) {
  std::string text =
      analysis::CsvLine({"client", "group", "region", "down", "up", "max_down", "max_up", "delay",
                         "error", "slowdown", "profile", "samples", "price_hour", "longitude"});
  for (int64_t number = 0; number < population.Clients(); ++number) {
    const fabric::Client client = population.At(number);
    const auto rate = [](const fabric::Port& port) {
      return std::to_string(std::llround(MeanRate(port)));
    };
    text += analysis::CsvLine(
        {std::to_string(number), population.Groups()[client.group].name, *client.region,
         rate(client.down), rate(client.up), std::to_string(client.down.rateBps),
         std::to_string(client.up.rateBps), analysis::CsvNumber(InSeconds(client.delay)),
         analysis::CsvNumber(client.down.errorRate), analysis::CsvNumber(client.slowdown),
         *client.profile, std::to_string(client.samples), analysis::CsvNumber(client.usdPerHour),
         analysis::CsvNumber(client.longitude)});
  }
  return text;
}

std::string AvailabilitySvg(const PopulationView& view) {
  constexpr double kWidth = 720, kHeight = 320, kLeft = 60, kRight = 150, kTop = 20, kBottom = 45;
  constexpr const char* kColours[] = {"#4477AA", "#EE6677", "#228833",
                                      "#CCBB44", "#66CCEE", "#AA3377"};
  constexpr size_t kMostGroups = 12;
  const double width = kWidth - kLeft - kRight, height = kHeight - kTop - kBottom;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  for (int tick = 0; tick <= 4; ++tick) {
    const double y = kTop + height * (1 - tick / 4.0);
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"#DDD\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5} %</text>\n",
        kLeft, y, kLeft + width, kLeft - 6, y + 4, 25 * tick);
    const double x = kLeft + width * tick / 4;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}:00</text>\n", x,
                       kTop + height + 18, 6 * tick);
  }
  for (size_t i = 0; i < std::min(view.groups.size(), kMostGroups); ++i) {
    const PopulationView::Group& group = view.groups[i];
    const char* colour = kColours[i % std::size(kColours)];
    std::string points;
    for (size_t hour = 0; hour <= view.hours.size(); ++hour) {
      const double share = group.available[hour % view.hours.size()];
      points += fmt::format("{:.1f},{:.1f} ", kLeft + width * static_cast<double>(hour) / kTimes,
                            kTop + height * (1 - share));
    }
    svg +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n",
                    points, colour, i < std::size(kColours) ? "" : " stroke-dasharray=\"5,3\"");
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"{}\">{}</text>\n",
                       kLeft + width + 10, kTop + 14 + 16 * static_cast<double>(i), colour,
                       analysis::Shorten(group.name, 18));
  }
  svg += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">time of day, UTC</text>\n</svg>\n",
      kLeft + width / 2, kHeight - 8);
  return svg;
}

}  // namespace legacy
