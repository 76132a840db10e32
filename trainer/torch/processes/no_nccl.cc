// This file stands in for nccl_carrier.cc in builds whose trainings use no GPU, or without NCCL.
#include "trainer/processes/nccl_carrier.h"

namespace legacy {

std::unique_ptr<Carrier> OpenNccl(ProcessGroup&, int, std::string* why) {
  *why = "this program was built without NCCL";
  return nullptr;
}

}  // namespace legacy
