// Linux cases are completion times of the Linux kernel's TCP that were measured (linux_tcp/), each
// as a simulation that any engine can run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/network/engines/engines.h"

namespace legacy {

// A LinuxHost is a host's link to the star's middle.
struct LinuxHost {
  int64_t up_bps = 0;    // 0: no limit
  int64_t down_bps = 0;  // 0: no limit
  TimeNs delay = 0;
  int64_t queue_bytes = 0;
  double loss = 0;  // each way
};

// A LinuxEngine is one of those that are compared with Linux.
enum class LinuxEngine : uint8_t {
  kSockets,   // packets of ns-3's sockets
  kSegments,  // packets of our own TCP
  kFlow,
};

// A LinuxCase is one measured row.
struct LinuxCase {
  std::string name;
  std::string operation;   // single, ring_ar, ring_ag, hd_ar, ps, ps_uneq, a2a
  std::string congestion;  // cubic, reno, bbr
  std::vector<LinuxHost> hosts;
  // True: the hosts' own token buckets limit them. False: an emulator behind the hosts does.
  bool shaped_hosts = true;
  bool warm = false;
  int mtu = 1500;
  int link_header = 14;  // bytes of the link layer that were counted in a frame
  int64_t burst_bytes = 0;
  int64_t bytes = 0;  // as the operation takes them
  double smallest_frames = 0;
  double seconds = 0;  // median
  double least = 0;
  double largest = 0;
  double fluid_seconds = 0;  // 0: not given

  // Returns whether an engine has its congestion control: only our own packets have BBR, as that of
  // ns-3 sends a segment a time-out after losses.
  bool RunsOn(LinuxEngine engine) const;
  // Returns whether senders that start at once meet at a queue of less than two segments, TCP's
  // least window, for each of them. TCP times out there, which the flow engine does not know.
  bool Starved() const;
};

// Return the embedded files.
const char* LinuxCollectivesCsv();
const char* LinuxWanCsv();

// Returns all measured rows.
std::vector<LinuxCase> LinuxCases();

// Returns the time in seconds that the case takes on an engine: the median of as many repetitions
// as were measured, on the same connections where they are warm, or with other seeds where links
// lose packets. The delay of host i's link is longer by i times `shift`.
double SimulateLinuxCase(const LinuxCase& one, LinuxEngine engine, TimeNs shift = 0);

}  // namespace legacy
