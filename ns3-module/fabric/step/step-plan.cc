// The canonical text of a step plan, and its text for people.
#include "step-plan.h"

#include "check-traffic.h"

#include <array>
#include <cstring>
#include <sstream>

namespace legacy::fabric
{

namespace
{

void AppendText(std::string& text, const std::string& value)
{
    AppendCanonical(text, std::vector<int64_t>{static_cast<int64_t>(value.size())});
    text += value;
}

template <typename T>
void AppendValues(std::string& text, const std::vector<T>& values)
{
    AppendCanonical(text, std::vector<int64_t>(values.begin(), values.end()));
}

void AppendOperation(std::string& text, const StepOperation& operation)
{
    AppendCanonical(text,
                    {static_cast<int64_t>(operation.kind),
                     operation.stream,
                     static_cast<int64_t>(operation.label),
                     operation.communicator,
                     operation.issue,
                     operation.tag,
                     operation.bytes});
    AppendText(text, operation.name);
    AppendValues(text, operation.after);
    AppendValues(text, operation.earliest);
    AppendValues(text, operation.duration);
    AppendValues(text, operation.collective);
    AppendValues(text, operation.peer);
}

/// Returns "0-3, 6", the values in their order with runs drawn together.
template <typename T>
std::string RunsOf(const std::vector<T>& values)
{
    std::ostringstream text;
    for (size_t i = 0; i < values.size();)
    {
        size_t end = i + 1;
        while (end < values.size() && values[end] == values[end - 1] + 1)
        {
            ++end;
        }
        text << (i == 0 ? "" : ", ") << values[i];
        if (end - i > 1)
        {
            text << '-' << values[end - 1];
        }
        i = end;
    }
    return text.str();
}

/// Returns "5, 7, 7": one value for each rank, or one for all.
template <typename T>
std::string ListOf(const std::vector<T>& values)
{
    std::ostringstream text;
    for (size_t i = 0; i < values.size(); ++i)
    {
        text << (i == 0 ? "" : ", ") << values[i];
    }
    return text.str();
}

/// Returns "1000", or "1000, 0" where sizes differ.
std::string SizesOf(const CollectiveSpec& spec)
{
    for (int64_t bytes : spec.bytes)
    {
        if (bytes != spec.bytes[0])
        {
            return ListOf(spec.bytes);
        }
    }
    return std::to_string(spec.bytes[0]);
}

/// Returns ", issue 3 of shards" for an operation of a communicator.
std::string IssueOf(const StepPlan& plan, const StepOperation& operation)
{
    return operation.communicator == kNoCommunicator
               ? ""
               : ", issue " + std::to_string(operation.issue) + " of " +
                     plan.communicators[operation.communicator];
}

std::string WhatOf(const StepPlan& plan, const StepOperation& operation)
{
    const std::string time = operation.duration.empty() ? "0" : ListOf(operation.duration);
    switch (operation.kind)
    {
    case OperationKind::Segment:
        return std::string(" ") + ToString(operation.label) + " of " + time + " ns";
    case OperationKind::Collective:
        return " " + ListOf(operation.collective) + IssueOf(plan, operation);
    case OperationKind::Transfer:
        return " of " + time + " ns" + IssueOf(plan, operation);
    case OperationKind::Send:
        return " of " + std::to_string(operation.bytes) + " B to " + ListOf(operation.peer) +
               ", tag " + std::to_string(operation.tag) +
               (operation.duration.empty() ? "" : ", in " + time + " ns");
    case OperationKind::Receive:
        return " from " + ListOf(operation.peer) + ", tag " + std::to_string(operation.tag);
    case OperationKind::Barrier:
        break;
    }
    return "";
}

} // namespace

const char* ToString(SegmentLabel label)
{
    constexpr std::array<const char*, kSegmentLabels> kNames = {
        "compute", "encode", "decode", "recompute", "update"};
    return kNames[static_cast<size_t>(label)];
}

const char* ToString(OperationKind kind)
{
    constexpr const char* kNames[] = {
        "segment", "collective", "send", "receive", "transfer", "barrier"};
    return kNames[static_cast<size_t>(kind)];
}

std::string StepPlan::Canonical() const
{
    std::string text;
    int64_t contentionBits = 0;
    std::memcpy(&contentionBits, &contention, sizeof contentionBits);
    AppendCanonical(text,
                    {ranks,
                     hostLimit,
                     contentionBits,
                     static_cast<int64_t>(streams.size()),
                     static_cast<int64_t>(communicators.size()),
                     static_cast<int64_t>(collectives.size()),
                     static_cast<int64_t>(roles.size())});
    for (const StepStream& stream : streams)
    {
        AppendText(text, stream.name);
        text += stream.ordered ? 'o' : 'a';
        if (stream.device > 0)
        {
            text += "d" + std::to_string(stream.device);
        }
    }
    for (const std::string& communicator : communicators)
    {
        AppendText(text, communicator);
    }
    for (const CollectiveSpec& collective : collectives)
    {
        AppendCanonical(text, collective);
    }
    for (const StepRole& role : roles)
    {
        AppendValues(text, role.ranks);
        AppendCanonical(text, std::vector<int64_t>{static_cast<int64_t>(role.operations.size())});
        for (const StepOperation& operation : role.operations)
        {
            AppendOperation(text, operation);
        }
    }
    return text;
}

std::string ToText(const StepPlan& plan)
{
    std::ostringstream text;
    text << plan.ranks << " ranks";
    if (plan.contention > 0)
    {
        text << ", contention " << plan.contention;
    }
    if (plan.hostLimit > 0)
    {
        text << ", host limit " << plan.hostLimit;
    }
    text << '\n';
    for (const StepStream& stream : plan.streams)
    {
        text << "stream " << stream.name << (stream.ordered ? "" : ", any order")
             << (stream.device > 0 ? ", on device " + std::to_string(stream.device) : "") << '\n';
    }
    for (size_t c = 0; c < plan.collectives.size(); ++c)
    {
        const CollectiveSpec& spec = plan.collectives[c];
        text << "collective " << c << ": " << ToString(spec.algorithm) << " of " << SizesOf(spec)
             << " B among " << (spec.members.empty() ? "all" : RunsOf(spec.members)) << '\n';
    }
    for (size_t r = 0; r < plan.roles.size(); ++r)
    {
        const StepRole& role = plan.roles[r];
        text << "role " << r << ": ranks " << RunsOf(role.ranks) << '\n';
        for (size_t number = 0; number < role.operations.size(); ++number)
        {
            const StepOperation& operation = role.operations[number];
            text << "  " << number << (operation.name.empty() ? "" : " ") << operation.name << ": "
                 << ToString(operation.kind) << WhatOf(plan, operation) << ", on "
                 << plan.streams[operation.stream].name;
            if (!operation.after.empty())
            {
                text << ", after " << ListOf(operation.after);
            }
            if (!operation.earliest.empty())
            {
                text << ", from " << ListOf(operation.earliest) << " ns";
            }
            text << '\n';
        }
    }
    return text.str();
}

} // namespace legacy::fabric
