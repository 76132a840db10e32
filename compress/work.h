// Device work that methods say they do: amounts, which a profile prices (trainer/clock/profile.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace legacy {

// seconds = sets of launches * launch_seconds of the kernel + elements * its seconds_per_element.
// How many sets it takes depends on who runs it, so there are two counts.
struct Work {
  std::string kernel;  // "topk.encode", "sparse.decode", "cast.encode"; empty: free
  int64_t elements = 0;
  int64_t launches = 1;  // sets where every unit and every message is worked on by itself
  int64_t sets = 1;      // sets where all units that are alike, and all messages, share one
  int64_t alike = 0;  // units of other numbers share no set: bits of a quantiser, a matrix's shape
};

using WorkList = std::vector<Work>;

// Bytes that the kernels of a GPU move beside those of their elements: messages, samples, lists of
// candidates.
Work Moved(int64_t bytes);

// Selecting the largest magnitudes of `numel` values; and the sample alone that tells where they
// begin: 16384 values, each in a sector of 32 bytes, as far as there are so many.
WorkList TopKWork(int64_t numel);
Work TopKSampleWork(int64_t numel);

// What is encoded: the gradient; its sum with the residual, made on the way; or that sum, made
// before (momentum).
enum class Feeding : uint8_t { kNone, kGradient, kAdded };

// Adds `work`, which is done before or after what is in `total`: elements, launches and sets are
// summed for each kernel and `alike`; free work (no kernel) is left out.
void AddWork(const Work& work, WorkList& total);
void AddWork(const WorkList& work, WorkList& total);
// Adds work of another unit, which shares its sets of launches with what is alike in `total`.
void JoinWork(const WorkList& work, WorkList& total);
// The same for this many messages, each worked on by itself where nothing shares launches.
WorkList Times(WorkList work, int64_t messages);

// Work::alike of units that have all of these in common, not negative.
inline int64_t AlikeKey(std::initializer_list<int64_t> common) {
  uint64_t key = 0;
  for (const int64_t part : common) key = (key + static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15U;
  return static_cast<int64_t>(key >> 1);
}

}  // namespace legacy
