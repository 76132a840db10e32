// Work is the amount of device work that methods declare, and that a profile prices
// (trainer/clock/profile.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace legacy {

// Work takes seconds = launch_seconds of the kernel * sets of launches + seconds_per_element *
// elements. The number of sets depends on the implementation, so there are two counts.
struct Work {
  std::string kernel;  // "topk.encode", "sparse.decode", "cast.encode"; empty: free
  int64_t elements = 0;
  int64_t launches = 1;  // sets if each unit and each message has launches of its own
  int64_t sets = 1;      // sets if all alike units, and all messages, share one
  // Units with different numbers share no set. It encodes a quantiser's bits, or a matrix's shape.
  int64_t alike = 0;
};

using WorkList = std::vector<Work>;

// Returns the work of bytes that GPU kernels move besides those of their elements: messages,
// samples, lists of candidates.
Work Moved(int64_t bytes);

// TopKWork returns the work of selecting the largest magnitudes of `numel` values. TopKSampleWork
// returns that of its sample, which brackets the threshold: up to 16384 values, each in a sector of
// 32 bytes.
WorkList TopKWork(int64_t numel);
Work TopKSampleWork(int64_t numel);

// The input of encoding: the gradient; its sum with the residual, computed while encoding; or that
// sum, computed before (momentum).
enum class Feeding : uint8_t { kNone, kGradient, kAdded };

// Return what is wrong with work that a method declares, "-5 elements of kernel copy"; empty if
// nothing is.
std::string FaultIn(const Work& work);
std::string FaultIn(const WorkList& work);

// Adds `work`, done before or after the work in `total`: elements, launches and sets are summed for
// each kernel and `alike`. Free work (no kernel) is ignored. Throws Error for negative numbers.
void AddWork(const Work& work, WorkList& total);
void AddWork(const WorkList& work, WorkList& total);
// Adds the work of another unit, which shares its sets of launches with alike work in `total`.
void JoinWork(const WorkList& work, WorkList& total);
// Returns the work for that many messages; each has launches of its own unless sets are shared.
WorkList Times(WorkList work, int64_t messages);

// Returns a Work::alike, not negative, for units that have all of these numbers in common.
inline int64_t AlikeKey(std::initializer_list<int64_t> common) {
  uint64_t key = 0;
  for (const int64_t part : common) key = (key + static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15U;
  return static_cast<int64_t>(key >> 1);
}

}  // namespace legacy
