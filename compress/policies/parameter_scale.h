// A codec's parameter as an amount of what is sent, so that one rule ("five times as much for small
// layers") holds for densities, bits and ranks, for FFT's theta (1 - theta is kept) and for
// thresholds (taken as inverse to what is sent).
#pragma once

#include "compress/codec.h"

namespace legacy {

// Grows with what is sent: the parameter itself, 1 - theta, 1 / threshold.
double Amount(const ParameterSpec& spec, double parameter);

// The parameter of that amount, within the range of `spec`, rounded where it is an integer.
double FromAmount(const ParameterSpec& spec, double amount);

// The end of the range at which most, or least, is sent.
double MostParameter(const ParameterSpec& spec);
double LeastParameter(const ParameterSpec& spec);

// The parameter that sends about `factor` times as much.
double ScaleParameter(const ParameterSpec& spec, double parameter, double factor);

}  // namespace legacy
