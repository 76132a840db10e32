// The table of TCP's congestion controls, which have these names at all fidelities. A new control
// is a file with a row, and a line in the table of controls.cc.
#pragma once

#include "congestion.h"

#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A TcpControlRow is a row of the table.
struct TcpControlRow
{
    std::string name;
    std::string source; ///< authors, title, venue; or a standard
    /// Class that has its part with ns-3's sockets (`ns3:`), of ns-3 or ours; "": none has.
    std::string sockets;
    std::unique_ptr<TcpCongestion> (*make)() = nullptr;
};

/// Returns the table.
const std::vector<TcpControlRow>& TcpControls();
/// Returns the names, as in "reno|cubic|...".
std::string TcpControlNames(const std::string& separator);

/// Returns the congestion control of that name. Throws Error naming `option`.
std::string ParseCongestionControl(const std::string& text, const std::string& option);

/// Makes the control of that name; nullptr: it is none of these.
std::unique_ptr<TcpCongestion> MakeTcpCongestion(const std::string& name);

} // namespace legacy::fabric
