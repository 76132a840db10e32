// A device by its data sheet: what its matrix products and its memory reach, whatever the model.
// Products are priced by their shape and by waves of tiles over the processors, in each precision.
// docs/profiles.md has the formulas and the sources of their constants.
#pragma once

#include <map>

#include "trainer/clock/compute_options.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {

// A Device is the section "device" of a profile.
struct Device {
  int processors = 0;  // streaming multiprocessors or compute units
  // Peak rates of dense products by precision.
  std::map<Precision, double> product_flops_per_second;
  double product_efficiency = 0;  // part of the peak that the best product reaches
  double fp8_efficiency = 0;      // the same of products with inputs in FP8; 0: there are none
  double scalar_efficiency = 0;   // the same of products in fp32, which matrix units do not make
  // The same of the forward pass of fused attention by kernels of 2023, 2024 and 2025.
  double attention_efficiency = 0;
  double attention_efficiency_2024 = 0;
  double attention_efficiency_2025 = 0;
  // Part of these rates of matrix units that a long training keeps, as their power lowers clocks.
  double sustained = 1;
  double bytes_per_second = 0;   // peak rate of memory
  double memory_efficiency = 0;  // part of it that copies reach
  double host_seconds = 0;       // time of the host for each operation that it launches
};

// Returns the seconds of `count` products of rows x inner by inner x columns. Each takes whole
// waves of tiles; the sizes of tiles, and in how many parts the inner dimension is cut, are those
// that take the least time.
double ProductSeconds(const Device& device, Precision precision, double rows, double columns,
                      double inner, double count);

// Return the seconds of an operation of `samples` samples in the forward pass, and in the backward
// pass without what is computed again.
double ForwardSecondsOn(const Device& device, const ComputeOptions& options,
                        const OperationCost& operation, double samples);
double BackwardSecondsOn(const Device& device, const ComputeOptions& options,
                         const OperationCost& operation, double samples);

}  // namespace legacy
