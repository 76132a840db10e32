/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_LIVE_MEMORY_H
#define LEGACY_LIVE_MEMORY_H

#include <cstdint>

namespace legacy
{
namespace packet
{

// A program of one thread with live-memory.cc counts what operator new makes, in all libraries.

/**
 * \return bytes that are alive now, as the allocator rounds them
 */
int64_t LiveBytes();
/**
 * \return calls of operator new so far
 */
int64_t Allocations();

} // namespace packet
} // namespace legacy

#endif // LEGACY_LIVE_MEMORY_H
