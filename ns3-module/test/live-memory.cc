/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "live-memory.h"

#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace
{

int64_t liveBytes{0};
int64_t allocations{0};

} // namespace

namespace legacy
{
namespace packet
{

int64_t LiveBytes()
{
    return liveBytes;
}

int64_t Allocations()
{
    return allocations;
}

} // namespace packet
} // namespace legacy

void* operator new(std::size_t bytes)
{
    void* made = std::malloc(bytes > 0 ? bytes : 1);
    if (made == nullptr)
    {
        throw std::bad_alloc();
    }
    liveBytes += static_cast<int64_t>(malloc_usable_size(made));
    ++allocations;
    return made;
}

void operator delete(void* freed) noexcept
{
    liveBytes -= static_cast<int64_t>(malloc_usable_size(freed));
    std::free(freed);
}

void operator delete(void* freed, std::size_t) noexcept
{
    operator delete(freed);
}
