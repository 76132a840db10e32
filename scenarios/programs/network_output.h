// The commands of legacy-network announce long work, and write tables and rows, by these functions.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/options.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/results.h"
#include "scenarios/programs/network_command.h"

namespace legacy {

// From this number of flows on, simulations are announced and show their progress.
inline constexpr double kAnnouncedFlows = 1e7;

// Returns the options and paths of the files that are asked for: all of them, or those that only
// one experiment can have.
std::vector<std::pair<std::string, std::string>> FilesOf(const NetworkCommand& command,
                                                         OptionProperties properties = 0);

// Returns the stream for tables, to which no file goes, and the width of its terminal.
std::FILE* TableStream(const NetworkCommand& command);
size_t TableColumns(const NetworkCommand& command);

// Writes the rows into the files that are asked for.
void WriteRows(const NetworkOutputs& outputs, const std::vector<Row>& rows);

// Prints warnings.
void Say(const std::vector<std::string>& warnings);

// Announces packet simulations that take long, of so many seconds if no packets are skipped.
void Announce(double seconds, const NetworkCommand& command);

// Returns the number of flows of all simulations of the experiment.
double AllFlows(const PreparedExperiment& prepared);
// Announces simulations of many flows.
void AnnounceFlows(double flows);

}  // namespace legacy
