#include "compress/work.h"

#include <algorithm>

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

void AddWork(const Work& work, WorkList& total) {
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
