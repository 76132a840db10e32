// Spans are times in which something ran.
#pragma once

#include "base/units.h"

#include <algorithm>
#include <vector>

namespace legacy::fabric
{

/// A Span is a time from `begin` to `end`.
struct Span
{
    TimeNs begin;
    TimeNs end;
};

/// Returns the union of spans: disjoint ones, in order.
inline std::vector<Span> Union(std::vector<Span> spans)
{
    std::sort(
        spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::vector<Span> all;
    for (const Span& span : spans)
    {
        if (span.end <= span.begin)
        {
            continue;
        }
        if (all.empty() || span.begin > all.back().end)
        {
            all.push_back(span);
        }
        all.back().end = std::max(all.back().end, span.end);
    }
    return all;
}

/// Returns the length of disjoint spans.
inline TimeNs Length(const std::vector<Span>& spans)
{
    TimeNs length = 0;
    for (const Span& span : spans)
    {
        length += span.end - span.begin;
    }
    return length;
}

/// Returns the length of what two lists of disjoint spans in order have in common.
inline TimeNs Overlap(const std::vector<Span>& one, const std::vector<Span>& other)
{
    TimeNs length = 0;
    auto a = one.begin();
    auto b = other.begin();
    while (a != one.end() && b != other.end())
    {
        length += std::max<TimeNs>(0, std::min(a->end, b->end) - std::max(a->begin, b->begin));
        ++(a->end < b->end ? a : b);
    }
    return length;
}

} // namespace legacy::fabric
