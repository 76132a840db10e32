// What a program that simulates packets and the programs that use it say to each other. Either side
// can be replaced by another program: docs/packet-program.md says it all without this header.
//
// Frames go over one stream in each direction (standard input and output of legacy-packet): a u32
// with the bytes of the body, a byte with the kind, and the body, whose fields are those of the
// struct of that kind, as archives write them (base/archive.h), little endian.
//
//   user                                   legacy-packet
//   Hello              ->  <-              Hello
//   CheckFiles         ->  <-              Done              files that can be written
//   Network            ->  <-              Done              a network, which following engines
//   have EngineOrder        ->  <-              EngineFacts       a fresh engine Submission ->  <-
//   Done              a step by value, or a graph of the user Run                -> ... at each
//   callback of such a graph:
//                          <-              Call
//   Abort              ->  <-              Aborted           (any number)
//   Answer             ->                                    what the callback asked for
//                          <-              FlowNews          (any number, where flows are traced)
//                          <-              Ran
//   Counters, Links, Activity, Roce, Timing, Save            -> the value
//   Restore                                                  -> the time then
//   ScheduleTime, TraceFlows                                 -> Done
//   End                ->  <-              End               a file that was cut; "": none
//
// Instead of any reply there may be a Failure. While it runs, legacy-packet says Alive once a
// second.
#pragma once

#include "fields.h"
#include "network-value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy::wire
{

/// The version of this protocol, which both sides must have.
inline constexpr uint64_t kVersion = 5;

/// A Kind says what a frame is.
enum class Kind : uint8_t
{
    Hello = 1,
    CheckFiles = 2,
    Network = 3,
    EngineOrder = 4,
    EngineFacts = 5,
    Submission = 6,
    Run = 7,
    Ran = 8,
    Call = 9,
    Answer = 10,
    Abort = 11,
    Aborted = 12,
    FlowNews = 13,
    TraceFlows = 14,
    Counters = 15,
    Links = 16,
    Activity = 17,
    Roce = 18,
    Timing = 19,
    Save = 20,
    Restore = 21,
    ScheduleTime = 22,
    End = 23,
    Done = 24,
    Failure = 25,
    Alive = 26,
};

/// A Hello is the first frame of both sides.
struct Hello
{
    uint64_t version = kVersion;
    std::string program; ///< name and version of the program
    std::string ns3;     ///< version of the ns-3 that legacy-packet links; else ""
};

/// Files are those of ns3-module/helper/packet-engine-helper.h, PacketOutputs; empty: none.
struct Files
{
    std::string pcap;
    std::string flowMonitor;
    std::string netAnim;
};

/// An EngineOrder asks for a fresh engine on the last network.
struct EngineOrder
{
    fabric::Transport transport;
    std::optional<fabric::RoceSettings> roce; ///< Transport::roce
    uint64_t seed = 1;
    uint64_t run = 0;
    Files files;
    int number = 1; ///< of the engine among those that write the same files
};

/// EngineFacts are what an engine says of itself.
struct EngineFacts
{
    bool random = false;
    bool dependsOnTime = false;
    bool startsWarm = false;
    std::string fingerprint;
};

/// A Submission is a graph: a step by value, or one whose callbacks come as Calls.
struct Submission
{
    uint64_t graph = 0; ///< number, which no other graph of the engine has
    TimeNs start = 0;
    bool background = false;
    std::optional<fabric::StepTraffic> step;
};

/// A Ran is the end of a Run.
struct Ran
{
    bool done = false; ///< all graphs are
    TimeNs now = 0;
    std::vector<uint64_t> ended; ///< steps that ended in it
};

/// A Callback is one of fabric::FlowGraph.
enum class Callback : uint8_t
{
    Start,
    Delivered,
    Wake,
    Failed,
    Continue,
};

/// A Call is a callback of a graph of the user.
struct Call
{
    uint64_t graph = 0;
    Callback what = Callback::Start;
    TimeNs now = 0;
    fabric::Flow flow;  ///< Delivered, Failed
    uint64_t token = 0; ///< Wake
};

/// A Command is one of fabric::FlowSink.
struct Command
{
    enum class What : uint8_t
    {
        Send,
        Wake,
        Pause,
    };

    What what = What::Send;
    fabric::Flow flow;  ///< Send
    TimeNs delay = 0;   ///< Wake
    uint64_t token = 0; ///< Wake
};

/// An Answer has what a callback asked for, in order, after its last Abort.
struct Answer
{
    std::vector<Command> commands;
    bool done = false; ///< fabric::FlowGraph::Done
};

/// An Abort withdraws a flow of the graph whose callback it is in, after the commands.
struct Abort
{
    std::vector<Command> commands;
    fabric::Flow flow;
};

/// A FlowNews says that a flow began or arrived.
struct FlowNews
{
    fabric::Flow flow;
    TimeNs when = 0;
    bool delivered = false;
    std::optional<fabric::RoceFlow> roce; ///< what became of it, where that is known
};

/// A Failure is an error, after which the engine can only be ended.
struct Failure
{
    std::string text;
    bool refusal = false;
    /// Nodes between which a flow waits for a link that carries nothing any more (DeadLink).
    std::optional<std::pair<int, int>> dead;
};

template <class Archive>
void Fields(Archive& archive, Hello& h)
{
    auto& [version, program, ns3] = h;
    archive(version, program, ns3);
}

template <class Archive>
void Fields(Archive& archive, Curve& c)
{
    auto& [points, period] = c;
    archive(points, period);
}

template <class Archive>
void Fields(Archive& archive, ScheduleValue& s)
{
    auto& [curve, offset, scale, outages] = s;
    archive(curve, offset, scale, outages);
}

template <class Archive>
void Fields(Archive& archive, PortValue& p)
{
    auto& [rateBps, queueBytes, errorRate, usdPerGb, schedule, burstBytes] = p;
    archive(rateBps, queueBytes, errorRate, usdPerGb, schedule, burstBytes);
}

template <class Archive>
void Fields(Archive& archive, LinkValue& l)
{
    auto& [a, b, delay, weight, ports] = l;
    archive(a, b, delay, weight, ports);
}

template <class Archive>
void Fields(Archive& archive, NetworkValue& n)
{
    auto& [name, curves, schedules, nodes, links, seed, multipath, routes, placement] = n;
    archive(name, curves, schedules, nodes, links, seed, multipath, routes, placement);
}

template <class Archive>
void Fields(Archive& archive, Files& f)
{
    auto& [pcap, flowMonitor, netAnim] = f;
    archive(pcap, flowMonitor, netAnim);
}

template <class Archive>
void Fields(Archive& archive, EngineOrder& o)
{
    auto& [transport, roce, seed, run, files, number] = o;
    archive(transport, roce, seed, run, files, number);
}

template <class Archive>
void Fields(Archive& archive, EngineFacts& f)
{
    auto& [random, dependsOnTime, startsWarm, fingerprint] = f;
    archive(random, dependsOnTime, startsWarm, fingerprint);
}

template <class Archive>
void Fields(Archive& archive, Submission& s)
{
    auto& [graph, start, background, step] = s;
    archive(graph, start, background, step);
}

template <class Archive>
void Fields(Archive& archive, Ran& r)
{
    auto& [done, now, ended] = r;
    archive(done, now, ended);
}

template <class Archive>
void Fields(Archive& archive, Call& c)
{
    auto& [graph, what, now, flow, token] = c;
    archive(graph, what, now, flow, token);
}

template <class Archive>
void Fields(Archive& archive, Command& c)
{
    auto& [what, flow, delay, token] = c;
    archive(what, flow, delay, token);
}

template <class Archive>
void Fields(Archive& archive, Answer& a)
{
    auto& [commands, done] = a;
    archive(commands, done);
}

template <class Archive>
void Fields(Archive& archive, Abort& a)
{
    auto& [commands, flow] = a;
    archive(commands, flow);
}

template <class Archive>
void Fields(Archive& archive, FlowNews& n)
{
    auto& [flow, when, delivered, roce] = n;
    archive(flow, when, delivered, roce);
}

template <class Archive>
void Fields(Archive& archive, Failure& f)
{
    auto& [text, refusal, dead] = f;
    archive(text, refusal, dead);
}

} // namespace legacy::wire
