// A byte matrix has the bytes that each worker of an all-to-allv sends to each of the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy {

// Reads the matrix of `workers` senders from CSV: one line for each sender, one size ("64KB") for
// each receiver. Lines that start with '#' are skipped. Returns the bytes from s to d at s workers
// + d, with zeros on the diagonal, as no worker sends to itself. Throws Error with file and line.
std::vector<int64_t> ReadByteMatrix(const std::string& path, int workers);

// Returns the matrix in which worker s sends bytes[s] / N to each of the N - 1 others, as an
// all-to-all does. The first bytes[s] % N receivers get a byte more.
std::vector<int64_t> EvenByteMatrix(const std::vector<int64_t>& bytes);

}  // namespace legacy
