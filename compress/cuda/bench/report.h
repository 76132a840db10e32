// Prints and writes the results of legacy-bench-gpu.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "compress/cuda/bench/measure.h"

namespace legacy::bench {

void PrintHead(std::FILE* out);
void PrintRow(std::FILE* out, const Measurement& measurement);

// Prints the cases to measure, and the time that their bytes take at `bandwidth` bytes per second.
void PrintPlanHead(std::FILE* out, double bandwidth);
void PrintPlanRow(std::FILE* out, const Row& row, const Case& of, double bandwidth);

struct RunInfo {
  DeviceInfo device;
  std::string date, command;
  MeasureOptions options;
};

// Returns all results as JSON; docs/gpu.md describes the format.
std::string ToJson(const RunInfo& run, std::span<const Measurement> measurements);

}  // namespace legacy::bench
