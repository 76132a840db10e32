// A carrier moves bytes between processes in the place of their group, where it has a faster way:
// by NCCL between their GPUs (nccl_carrier.h).
#pragma once

#include <span>
#include <string>

#include "compress/message.h"

namespace legacy {

// A Carrier belongs to one process of a group. Its calls are those of the group: all processes make
// them in the same order.
class Carrier {
 public:
  virtual ~Carrier() = default;

  // Gathers the bytes of all processes, equally many of each, into `all`, by rank. Throws Error
  // where that fails, and GroupError where the group ends meanwhile.
  virtual void AllGather(ByteSpan own, std::span<std::byte> all) = 0;
};

// Returns why processes on these GPUs need another carrier than NCCL, which takes one process for
// each GPU; "": they do not. `gpus` has what identifies each process's GPU, by rank; empty: it has
// none.
std::string WhyNotNccl(std::span<const Bytes> gpus);

}  // namespace legacy
