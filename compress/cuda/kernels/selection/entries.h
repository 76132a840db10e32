// These are kernels over the entries of packed lists (segments.h), whose begins ascend from 0.
// Nothing waits for the device; the launches do not depend on the data. All throw Error where a
// launch is refused.
#pragma once

#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream.h"

namespace legacy::cuda {

// Writes flat[i] = value at the entries' positions in the segments. No list ends behind `most`. It
// moves 12 bytes an entry, and a sector of memory each.
void PutEntries(Segments segments, const PackedLists& lists, int64_t most, float* flat,
                Stream stream);

// MovedEntries is where lists go: begins that ascend from 0, too.
struct MovedEntries {
  const int64_t* begin = nullptr;
  uint32_t* indices = nullptr;
  float* values = nullptr;
};

// Moves the first from.count[s] entries of each of `count` lists. No list ends behind `most` where
// they go. It moves 16 bytes an entry.
void MoveEntries(int32_t count, const PackedLists& from, const MovedEntries& to, int64_t most,
                 Stream stream);

// Writes positions[i] = i of each segment: 4 bytes an element.
void Enumerate(const SegmentTable& table, Segments segments, uint32_t* positions, Stream stream);

}  // namespace legacy::cuda
