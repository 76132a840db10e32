// ARC-Top-K makes Top-K summable: all workers send the same rows of a gradient matrix, those whose
// mean sketch is largest. "ARC-Top-K", all-reduce compatible Top-K (2025), with EF14, EF21 or
// EF21M. A unit is a matrix m x n, its first dimension by the rest; e_i = g_i + r_i, and V (n x
// rank) has normal draws, new in each step, which all workers share.
//
//   call 1   P = mean of e_i V                            20 + 4 m rank bytes, all-reduced
//            rows = the k = max(1, floor(density m)) rows of P with the largest norms; ties: lower
//            row
//   call 2   the rows of the mean of e_i                  20 + 4 k n bytes, all-reduced
//   result   these rows, and 0 elsewhere;  r_i = e_i without the rows
//
// Vectors are sent whole, by all-reduce, without residual; so are matrices whose two calls have no
// fewer values than the matrix, with what the residual holds. The authors' code sends whole vectors
// as their own sketches, and selects from them in a second call: more than all values.
//
// Exact norms make E||e - C(e)||^2 <= (1 - k / m) ||e||^2; the norms of a sketch are estimates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace legacy {

// Returns the `count` rows of a matrix of rank `vectors.size() / rows` with the largest norms,
// ascending; of equal norms the lower rows. The vectors are the matrix's columns, one after the
// other.
std::vector<uint32_t> LargestRows(std::span<const float> vectors, int64_t rows, int64_t count);

}  // namespace legacy
