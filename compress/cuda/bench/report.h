// The report is what legacy-bench-gpu prints and writes.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "compress/cuda/bench/measure.h"

namespace legacy::bench {

void PrintHead(std::FILE* out);
void PrintRow(std::FILE* out, const Measurement& measurement);

// Prints what would be measured, and in which time its bytes move at `bandwidth` bytes a second.
void PrintPlanHead(std::FILE* out, double bandwidth);
void PrintPlanRow(std::FILE* out, const Row& row, const Case& of, double bandwidth);

struct RunInfo {
  DeviceInfo device;
  std::string date, command;
  MeasureOptions options;
};

// All of it as JSON; docs/gpu.md describes it.
std::string ToJson(const RunInfo& run, std::span<const Measurement> measurements);

}  // namespace legacy::bench
