// The parameter scale converts a codec's parameter to an amount that is sent, so that one rule
// ("five times as much for small layers") fits densities, bits and ranks, FFT's theta (1 - theta is
// kept) and thresholds (taken as inverse to what is sent).
#pragma once

#include "compress/codec.h"

namespace legacy {

// Returns an amount that grows with what is sent: the parameter itself, 1 - theta, or 1 /
// threshold.
double Amount(const ParameterSpec& spec, double parameter);

// Returns the parameter of that amount, within the range of `spec`, rounded if it is an integer.
double FromAmount(const ParameterSpec& spec, double amount);

// Return the end of the range at which most, or least, is sent.
double MostParameter(const ParameterSpec& spec);
double LeastParameter(const ParameterSpec& spec);

// Returns the parameter that sends about `factor` times as much.
double ScaleParameter(const ParameterSpec& spec, double parameter, double factor);

}  // namespace legacy
