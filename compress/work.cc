#include "compress/work.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

// Returns the entry of `total` that `work` belongs to, adding it if there is none; null for free
// work.
Work* EntryOf(const Work& work, WorkList& total) {
  if (work.kernel.empty()) return nullptr;
  for (Work& entry : total) {
    if (entry.kernel == work.kernel && entry.alike == work.alike) return &entry;
  }
  return &total.emplace_back(Work{work.kernel, 0, 0, 0, work.alike});
}

}  // namespace

WorkList TopKWork(int64_t numel) { return {{"topk.encode", numel}, TopKSampleWork(numel)}; }

Work TopKSampleWork(int64_t numel) { return Moved(32 * std::min<int64_t>(numel / 8, 16384)); }

Work Moved(int64_t bytes) { return bytes > 0 ? Work{"moved", bytes} : Work{"", 0, 0, 0}; }

std::string FaultIn(const Work& work) {
  if (work.elements >= 0 && work.launches >= 0 && work.sets >= 0) return "";
  const auto [number, what] = work.elements < 0   ? std::pair(work.elements, "elements")
                              : work.launches < 0 ? std::pair(work.launches, "launches")
                                                  : std::pair(work.sets, "sets of launches");
  return std::to_string(number) + " " + what + " of kernel " + work.kernel;
}

std::string FaultIn(const WorkList& work) {
  for (const Work& entry : work) {
    if (std::string fault = FaultIn(entry); !fault.empty()) return fault;
  }
  return "";
}

void AddWork(const Work& work, WorkList& total) {
  if (const std::string fault = FaultIn(work); !fault.empty()) {
    throw Error("work", fault, "at least 0");
  }
  Work* const entry = EntryOf(work, total);
  if (entry == nullptr) return;
  entry->elements += work.elements;
  entry->launches += work.launches;
  entry->sets += work.sets;
}

void AddWork(const WorkList& work, WorkList& total) {
  for (const Work& entry : work) AddWork(entry, total);
}

void JoinWork(const WorkList& work, WorkList& total) {
  WorkList own;
  AddWork(work, own);
  for (const Work& entry : own) {
    Work& shared = *EntryOf(entry, total);
    shared.elements += entry.elements;
    shared.launches += entry.launches;
    shared.sets = std::max(shared.sets, entry.sets);
  }
}

WorkList Times(WorkList work, int64_t messages) {
  for (Work& entry : work) {
    entry.elements *= messages;
    entry.launches *= messages;
  }
  return work;
}

}  // namespace legacy
