// Matrices of measured round-trip times between end hosts (such as Zhu et al., ToN 2017).
#pragma once

#include "base/settings.h"
#include "import.h"

#include "fabric/topology/file.h"

#include <string>

namespace legacy::fabric
{

/// Reads a square text of round-trip times, a row a line, and makes a star of it: host i is row i,
/// and its link to the hub has half of its round-trip time to the server as delay; the server's own
/// has none. Paths between two hosts other than the server have the sum of both, whatever the
/// matrix says of them. It reads from `options`: unit (ms or s, which no file says), server (a row,
/// from 0: 0), missing (error, or median of the server's row; an entry of 0 off the diagonal is
/// missing), rate (that of `defaults`), server_rate (the same), queue. Throws Error with file, line
/// and column.
ImportedTopology
ReadRttMatrix(const std::string& path, Settings& options, const LinkDefaults& defaults);

} // namespace legacy::fabric
