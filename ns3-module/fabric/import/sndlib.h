// What SNDlib's native and XML files have in common (Orlowski et al., Networks 55(3), 2010).
#pragma once

#include "network-map.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace legacy::fabric
{

/// A SndlibNetwork collects the parts of a file as its reader meets them. Every `where` is
/// "file:line" or longer, for messages.
class SndlibNetwork
{
  public:
    /// `unitBps` is the unit of capacities and demands, whatever the file names; 0: the file's.
    SndlibNetwork(const std::string& path, int64_t unitBps);

    /// Sets the unit that the file names, unless one was given. Throws Error on one that is not
    /// known.
    void SetUnit(const std::string& unit, const std::string& where);

    /// Adds a node; `x` and `y` are its longitude and latitude, or, where `geographical` is false
    /// or they are out of range, a place in a picture. Throws Error on a name that is given twice.
    void AddNode(const std::string& name, double x, double y, bool geographical, int line);

    /// Adds a line with its capacity as installed, and those of its modules. Throws Error on nodes
    /// that are not there and on capacities below 0.
    void AddLine(const std::string& source,
                 const std::string& target,
                 double installed,
                 const std::vector<double>& modules,
                 const std::string& where,
                 int line);

    /// Adds a demand, likewise.
    void AddDemand(const std::string& source,
                   const std::string& target,
                   double value,
                   const std::string& where);

    /// Counts something that no topology has, such as costs.
    void Skip(const std::string& of, const std::string& name, int64_t count = 1);

    /// Returns the map. Throws Error where capacities have no unit.
    NetworkMap Finish();

  private:
    int Find(const std::string& name, const char* what, const std::string& where) const;

    struct Capacity
    {
        double value = 0; ///< in units; 0: none
        std::string where;
    };

    NetworkMap m_map;
    bool m_given; ///< the unit, after the path
    double m_unitBps;
    bool m_geographical = true; ///< all nodes so far have a longitude and a latitude
    std::unordered_map<std::string, int> m_nodes;
    std::vector<Capacity> m_capacities; ///< by line of the map
};

} // namespace legacy::fabric
