// What a population is: clients, devices, lines, and availability over a day, as tables, CSV and a
// picture.
#pragma once

#include <string>
#include <vector>

#include "analysis/table_text.h"
#include "ns3-module/fabric/population/population.h"

namespace legacy {

// A PopulationView has the figures of a population.
struct PopulationView {
  struct Group {
    std::string name;
    int64_t clients = 0;
    std::vector<double> down{}, up{}, delay{}, slowdown{};  // of the clients that were looked at
    int64_t traced = 0;                                     // those whose line follows a trace
    std::vector<double> available{};                        // share at each time of `times`
  };
  std::vector<Group> groups;
  std::vector<double> hours;  // of the second day, UTC
  int64_t looked_at = 0;
  int64_t clients = 0;
};

// Looks at every client, or at an even choice of kMostViewed of them.
PopulationView ViewPopulation(const fabric::Population& population, const std::string& availability,
                              uint64_t seed);
inline constexpr int64_t kMostViewed = 20'000;

// Return tables, a row for each client (CSV), and the picture of availability over a day.
std::vector<analysis::Table> PopulationTables(const PopulationView& view);
std::string PopulationCsv(const fabric::Population& population);
std::string AvailabilitySvg(const PopulationView& view);

}  // namespace legacy
