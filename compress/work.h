// Work is what methods say they do on a device: amounts, which a profile prices
// (trainer/clock/profile.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace legacy {

// Work takes seconds = launch_seconds of the kernel * sets of launches + seconds_per_element *
// elements. The number of sets depends on who runs it, so there are two counts.
struct Work {
  std::string kernel;  // name: "topk.encode", "sparse.decode", "cast.encode"; empty: free
  int64_t elements = 0;
  int64_t launches = 1;  // sets where each unit and each message has launches of its own
  int64_t sets = 1;      // sets where all units that are alike, and all messages, share one
  // Units with different numbers share no set. It stands for a quantiser's bits, or a matrix's
  // shape.
  int64_t alike = 0;
};

using WorkList = std::vector<Work>;

// Returns the work of bytes that kernels of a GPU move beside those of their elements: messages,
// samples, lists of candidates.
Work Moved(int64_t bytes);

// TopKWork is the work of selecting the largest magnitudes of `numel` values. TopKSampleWork is
// that of its sample alone, which tells where they begin: up to 16384 values, each in a sector of
// 32 bytes.
WorkList TopKWork(int64_t numel);
Work TopKSampleWork(int64_t numel);

// Feeding says what is encoded: the gradient; its sum with the residual, made while encoding; or
// that sum, made before (momentum).
enum class Feeding : uint8_t { kNone, kGradient, kAdded };

// Adds `work`, done before or after what is in `total`: elements, launches and sets are summed for
// each kernel and `alike`. Free work (no kernel) is left out.
void AddWork(const Work& work, WorkList& total);
void AddWork(const WorkList& work, WorkList& total);
// Adds the work of another unit, which shares its sets of launches with what is alike in `total`.
void JoinWork(const WorkList& work, WorkList& total);
// Returns the work for that many messages; each has launches of its own where nothing shares them.
WorkList Times(WorkList work, int64_t messages);

// Returns Work::alike, not negative, of units that have all of these numbers in common.
inline int64_t AlikeKey(std::initializer_list<int64_t> common) {
  uint64_t key = 0;
  for (const int64_t part : common) key = (key + static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15U;
  return static_cast<int64_t>(key >> 1);
}

}  // namespace legacy
