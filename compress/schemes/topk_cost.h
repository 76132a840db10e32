// Which way Top-K should travel (Tyagi and Swany, Flexible communication for optimal distributed learning over
// unpredictable networks, IEEE BigData 2023): seconds of the alternatives by latency a and seconds b per byte, for N
// workers that keep M bytes of values each, and M of positions.
//
//   gathered               a log2 N + 2 M b (N - 1)
//   AR-Topk over a ring    a (2 (N - 1) + log2 N) + M b (2 (N - 1) / N + log2 N)
//   AR-Topk over a tree    3 a log2 N + 3 M b log2 N
#pragma once

#include <cstdint>

#include "compress/exchange.h"

namespace legacy {

double GatherSeconds(const LinkEstimate& link, int64_t bytes, int workers);
double RingSeconds(const LinkEstimate& link, int64_t bytes, int workers);
double TreeSeconds(const LinkEstimate& link, int64_t bytes, int workers);

}  // namespace legacy
