#include "scenarios/network/roce/figures.h"

namespace legacy {
analysis::RoceFigures RoceFiguresOf(const fabric::EngineCounters& counters,
                                    const std::vector<fabric::LinkCounters>& links, TimeNs time) {
  const fabric::RoceCounters& roce = counters.roce;
  analysis::RoceFigures figures;
  double paused = 0;
  for (const fabric::LinkCounters& link : links) {
    figures.pauses += link.pauses;
    paused += InSeconds(link.paused);
  }
  const double all = InSeconds(time) * static_cast<double>(links.size());
  figures.paused_share = all > 0 ? paused / all : 0;
  figures.cnps = static_cast<int64_t>(roce.cnps);
  figures.naks = static_cast<int64_t>(roce.naks);
  figures.resent = static_cast<int64_t>(roce.resent);
  figures.reordered = static_cast<int64_t>(roce.reordered);
  figures.max_buffer_bytes = roce.maxBuffer;
  figures.max_headroom_share = roce.maxHeadroom;
  return figures;
}

analysis::PauseFigures PauseFiguresOf(const fabric::Topology& topology,
                                      const fabric::LinkCounters& link) {
  return {link.pauses, InSeconds(link.paused),
          link.pauseRoot < 0 ? "" : topology.LinkName(link.pauseRoot)};
}

}  // namespace legacy
