// An import is a topology with what its file left open, and what else the file says.
#pragma once

#include "fabric/topology/topology.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace legacy::fabric
{

/// An Assumed is a kind of thing that a file leaves open or that a topology cannot say, and that a
/// reader settled.
enum class Assumed : uint8_t
{
    Speed,         ///< lines without a speed: the default rate
    LabelledSpeed, ///< lines whose speed was read from words
    ModuleSpeed,   ///< lines without a capacity: their smallest module
    Length,        ///< links whose delay follows from their length
    Distance,      ///< links whose delay follows from the distance of their ends
    Place,         ///< nodes without a place: the middle of their neighbours
    Delay,         ///< links without places or delay: 1 ms
    Parallel,      ///< further lines between two nodes: their rates add
    Loop,          ///< lines from a node to itself, which are dropped
    Label,         ///< nodes whose name others have too, which get #2, #3, ...
    Component,     ///< nodes that the largest component does not reach, which are left out
    Hyperedge,     ///< nodes that stand for a shared medium, taken as nodes like any other
    RoundTrip,     ///< entries without a round-trip time: the median
    Price,         ///< ordered pairs without a price: free
    Suspect,       ///< ordered pairs whose measurement looks wrong
    MissingPair,   ///< ordered pairs without a measurement: the rate of `missing`
    Latency,       ///< what a format's switches add to a delay, moved to the lines
};

/// An Assumption is one kind with its count, and a sentence for people.
struct Assumption
{
    Assumed kind = Assumed::Speed;
    int64_t count = 0;
    std::string text; ///< sentence: "3 of 14 lines have no speed: 10 Gbit/s is taken"
};

/// An ImportReport says what a reader assumed, and which parts of the file were not used. It is
/// empty for a file that says everything and no more.
class ImportReport
{
  public:
    /// Adds an assumption, unless `count` is 0.
    void Add(Assumed kind, int64_t count, const std::string& text);

    const std::vector<Assumption>& All() const;
    bool Empty() const;
    /// Returns how often something of that kind was assumed, 0 where it never was.
    int64_t Count(Assumed kind) const;
    /// Returns everything in one line, without a name: "14 speeds, 14 delays from distances".
    std::string Short() const;

    /// Counts something that the file says `of` nodes, links or itself and that was not used. `why`
    /// is for what could have been used: "a number without a unit".
    void Skip(const std::string& of,
              const std::string& name,
              int64_t count = 1,
              const std::string& why = "");
    /// Returns what was not used in one line: "of nodes: type (3); of links: cost (4)", "" where
    /// everything was.
    std::string Unused() const;

  private:
    struct Skipped
    {
        std::string of;
        std::string name;
        std::string why;
        int64_t count = 0;
    };

    std::vector<Assumption> m_all;
    std::vector<Skipped> m_skipped;
    std::map<std::tuple<std::string, std::string, std::string>, size_t> m_positions; ///< of those
};

/// Returns "1 node" or "2 nodes".
std::string CountOf(int64_t count, const std::string& one, const std::string& many);

/// A Demand is traffic between two nodes that a file asks for.
struct Demand
{
    int source = 0; ///< node of the topology
    int destination = 0;
    double bitsPerSecond = 0;
};

/// An ImportedTopology is what a source gives.
struct ImportedTopology
{
    Topology topology;
    ImportReport report;
    std::vector<Demand> demands; ///< in the order of the file; empty for formats without any
    int server = 0;              ///< consecutive hosts (GPUs) of a server; 0: the file does not say
    int channels = 0;            ///< rings that use all NICs of a server, where the file has them
    /// Nodes by the numbers that the file has for them: a host, the first host at a node of a map,
    /// or a switch. Empty where nodes have no numbers; hosts then count from 0.
    std::map<int64_t, int> numbers;
};

} // namespace legacy::fabric
