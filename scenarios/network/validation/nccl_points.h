// Times that others have published for NCCL's all-reduces by size, as nccl-tests prints them.
// docs/results/validation.md names the sources.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace legacy {

// An NcclMachine is the machine and program of one table.
struct NcclMachine {
  std::string_view name;  // "4 nodes of 8 H100"
  int nodes;
  int gpus;       // in each node
  double inside;  // GB/s of a GPU to others of its node, as in NCCL's source
  int nic_gbps;   // of each GPU's NIC, Gbit/s
  int channels;   // that NCCL's search finds
  // From this size on, and below 16 MiB, NCCL 2.19 to 2.28 take NVLS over nodes: their model has 14
  // us for a hop where later ones have 20.9. 0: never, or another version.
  int64_t nvls_from;
  // True where, as far as is known, a process drives each GPU and the version is 2.12 or later.
  bool target;
  // The size of the first line of its table, and the time of each line, whose size is twice that of
  // the line before: the lesser of the times out of place and in place.
  int64_t least_bytes;
  std::span<const double> microseconds;
};

// Returns all machines.
std::span<const NcclMachine> NcclMachines();

}  // namespace legacy
