// A step plan says what each rank of a training step does: segments of compute, collectives, and
// messages to other ranks, on named streams. It is a plain value. A PlanGraph runs it on any engine
// (plan-graph.h), and builders make it (build-ddp.h). Times are nanoseconds from the step's start.
//
// Rules:
//  1. An operation starts when all operations in its `after` have ended, its own earliest time has
//     come, all operations before it in the list that are on its stream have ended (in streams that
//     are ordered), and all earlier issues of its communicator have. This is said of one rank: a
//     collective begins at a rank when that rank arrives.
//  2. A rank has device 0, which computes, and may have others, such as its processor. A stream
//     says on which device its segments run. Those of one device never overlap, whatever their
//     streams: what is ready runs first come first served. A segment of no duration needs no
//     device.
//  3. While at least one collective of a rank runs, segments of its device 0 progress at the rate
//     1 / (1 + contention).
//  4. With a host limit of n, an operation is issued when fewer than n of the operations before it
//     in the list have yet to end. Without one, all are issued at once.
//  5. A message leaves when its sender starts the send, whether or not the receiver waits for it
//     yet. The send ends when it has arrived, and the receive when it has arrived and was started.
//  6. A rank ends with its last operation, and the step with the last rank.
// Operations that become ready at one time begin in the order of the engine's events, and those of
// one event in the order of roles and operations.
#pragma once

#include "fabric/collective/collective.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A SegmentLabel says what a segment computes.
enum class SegmentLabel : uint8_t
{
    Compute, ///< forward and backward passes
    Encode,
    Decode,
    Recompute, ///< activations that were not kept
    Update,    ///< of weights
};
inline constexpr int kSegmentLabels = 5;

/// An OperationKind says what an operation is.
enum class OperationKind : uint8_t
{
    Segment, ///< compute on the rank's device
    Collective,
    Send,     ///< a message to another rank
    Receive,  ///< that message, there
    Transfer, ///< something that takes a stream a given time, and needs no other rank
    Barrier,  ///< a point of no duration, which joins operations of its rank or waits for a time
};

/// Return the names: "compute", "encode", ...; "segment", "collective", ...
const char* ToString(SegmentLabel label);
const char* ToString(OperationKind kind);

/// The communicator of a collective that waits for no other.
inline constexpr int kNoCommunicator = -1;

/// A StepOperation is one operation of all ranks of a role. Lists "by rank" have one value for each
/// rank of the role, in the role's order, or one for all of them. Fields of other kinds have no
/// effect.
struct StepOperation
{
    OperationKind kind = OperationKind::Segment;
    std::string name;       ///< in texts and messages; empty: "operation 7"
    int stream = 0;         ///< index of StepPlan::streams
    std::vector<int> after; ///< operations of the role, in any order
    /// Times before which it does not start, by rank; empty: 0.
    std::vector<TimeNs> earliest;

    SegmentLabel label = SegmentLabel::Compute;
    /// A segment takes this time alone on the device, and a transfer on its stream, by rank; empty:
    /// 0. A send that has one arrives after that time, whatever else the network carries.
    std::vector<TimeNs> duration;

    std::vector<int> collective;        ///< index of StepPlan::collectives, by rank
    int communicator = kNoCommunicator; ///< of a collective or transfer; index of communicators
    int issue = 0;                      ///< its place in the communicator's order at this rank

    std::vector<int> peer; ///< rank at the other end of a message, by rank
    int tag = 0;           ///< tells messages between two ranks apart; equal ones match in order
    int64_t bytes = 0;     ///< of a send
};

/// A StepRole is a list of ranks with the same operations.
struct StepRole
{
    std::vector<int> ranks;
    std::vector<StepOperation> operations;
};

/// A StepStream is a queue of each rank.
struct StepStream
{
    std::string name; ///< "compute", "gather", "reduce", "replica", "tensor", "pipe", ...
    /// True: operations run one after the other, in the order of the list, as in CUDA. False: any
    /// number of them run at once, and segments take turns on the device.
    bool ordered = true;
    int device = 0; ///< of the rank, 0 to kMostDevices - 1: where its segments run
};

/// The most devices of a rank.
inline constexpr int kMostDevices = 256;

/// A StepPlan is all that a step does.
struct StepPlan
{
    int ranks = 0;
    std::vector<StepStream> streams;
    /// Groups that run their collectives in the order of issue. A name may stand for several groups
    /// whose ranks are disjoint, because the order is that of each rank.
    std::vector<std::string> communicators;
    std::vector<CollectiveSpec> collectives; ///< each with its members
    std::vector<StepRole> roles;             ///< each rank has one
    double contention = 0;
    int hostLimit = 0; ///< 0: unlimited

    /// Returns the value as bytes, equal for equal plans: a key of memoised steps.
    std::string Canonical() const;
};

/// Returns the value that a list by rank has for the rank at `position` of its role; `none` for an
/// empty list.
template <typename T>
T ByRank(const std::vector<T>& values, int position, T none)
{
    return values.empty() ? none : values[values.size() == 1 ? 0 : position];
}

/// Returns whether an operation keeps the order of a communicator.
inline bool HasCommunicator(const StepOperation& operation)
{
    return (operation.kind == OperationKind::Collective ||
            operation.kind == OperationKind::Transfer) &&
           operation.communicator != kNoCommunicator;
}

/// Throws Error, with role and operation, on lists of the wrong length, indices out of range,
/// negative times and sizes, invalid collectives, ranks without a role or with two, members of a
/// collective that take no part in it, and messages that only one end knows. Throws Error on plans
/// that can never end, with the ranks that wait for each other: "rank 3 waits for AG(7) behind
/// RS(6), rank 4 the other way". All other plans end.
void CheckPlan(const StepPlan& plan);

/// Returns the plan in words, a line for each stream, collective, role and operation, for people
/// and tests.
std::string ToText(const StepPlan& plan);

} // namespace legacy::fabric
