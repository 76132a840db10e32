// Plain loops over dense vectors, written so that the compiler vectorises them. All in index order:
// same bits always.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace legacy::cpu {

// Position of the first NaN or infinity. 4 bytes read per element.
std::optional<int64_t> FirstNonFinite(std::span<const float> values);

// sum[i] += values[i]
void Add(std::span<const float> values, std::span<float> sum);

// values[i] *= factor
void Scale(std::span<float> values, float factor);

// Sum of squares in double precision.
double SquaredNorm(std::span<const float> values);

}  // namespace legacy::cpu
