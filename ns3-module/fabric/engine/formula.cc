// The formula engine computes the time of a transfer as bits / bandwidth of the client's line.
// Nothing is shared, nothing has a delay, and there are no headers. FedScale computes times in this
// way (Lai et al., ICML 2022), and the engine is here to show what simulation changes. If the rate
// of a line changes, its mean counts.
#include "formula.h"
#include "event-engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace legacy::fabric
{

namespace
{

class FormulaEngine : public EventEngine
{
  public:
    explicit FormulaEngine(const EngineRequest& request)
        : EventEngine(request),
          m_links(2 * m_topology.Links().size())
    {
    }

    std::string Name() const override
    {
        return "formula";
    }

    std::vector<LinkCounters> Links() const override
    {
        return m_links;
    }

  protected:
    void Send(const Flow& flow, int graph) override
    {
        const auto [link, bytesPerNs] = LineOf(flow);
        const double time = bytesPerNs > 0 ? static_cast<double>(flow.bytes) / bytesPerNs : 0;
        // Flows of one pair and lane keep their order.
        TimeNs& last = m_last[{flow.source, flow.destination, flow.lane}];
        last = std::max(last, Later(m_agenda.Now(), RoundedTime(time)));
        m_inFlight.emplace(m_next, InFlight{flow, link, graph, m_agenda.Now(), last});
        Push(last, 0, graph, m_next++);
    }

    int64_t Abort(const Flow& flow, int graph) override
    {
        for (auto entry = m_inFlight.begin(); entry != m_inFlight.end(); ++entry)
        {
            const InFlight& other = entry->second;
            if (other.graph != graph || other.flow.tag != flow.tag ||
                other.flow.source != flow.source || other.flow.destination != flow.destination ||
                other.flow.lane != flow.lane)
            {
                continue;
            }
            const auto whole = static_cast<double>(std::max<TimeNs>(1, other.end - other.start));
            const auto sent =
                std::llround(static_cast<double>(flow.bytes) *
                             static_cast<double>(m_agenda.Now() - other.start) / whole);
            Count(other.link, sent);
            m_inFlight.erase(entry);
            return sent;
        }
        return 0;
    }

    bool Due(TimeNs /* time */, int /* what */, uint64_t payload) const override
    {
        return m_inFlight.count(payload) > 0;
    }

    void Handle(int /* what */, int graph, uint64_t payload) override
    {
        const auto entry = m_inFlight.find(payload);
        const InFlight arrived = entry->second;
        m_inFlight.erase(entry);
        Count(arrived.link, arrived.flow.bytes);
        Deliver(arrived.flow, graph);
    }

  private:
    struct InFlight
    {
        Flow flow;
        DirectedLink link = kNoLine;
        int graph = 0;
        TimeNs start = 0;
        TimeNs end = 0;
    };

    static constexpr DirectedLink kNoLine = -1;

    /// Returns the client's line in the flow's direction, and its rate in bytes per nanosecond; 0
    /// if both ends are on one node. Clients are the placement's workers.
    std::pair<DirectedLink, double> LineOf(const Flow& flow) const
    {
        const std::vector<DirectedLink> route = m_topology.Route(
            m_placement.NodeOf(flow.source), m_placement.NodeOf(flow.destination), 0);
        if (route.empty() || flow.bytes == 0)
        {
            return {kNoLine, 0};
        }
        const DirectedLink line =
            flow.source < m_placement.Workers() ? route.front() : route.back();
        const Port& port = m_topology.PortOf(line);
        const int64_t rate = port.schedule ? port.schedule->MeanRate() : port.rateBps;
        return {line, static_cast<double>(rate) / 8e9};
    }

    void Count(DirectedLink link, int64_t bytes)
    {
        if (link != kNoLine)
        {
            m_links[link].bytes += bytes;
        }
    }

    std::map<uint64_t, InFlight> m_inFlight;                 ///< in the order of sending
    std::map<std::tuple<int, int, uint16_t>, TimeNs> m_last; ///< time of the last arrival
    std::vector<LinkCounters> m_links;
    uint64_t m_next = 0;
};

} // namespace

std::unique_ptr<Engine> MakeFormulaEngine(const EngineRequest& request)
{
    return std::make_unique<FormulaEngine>(request);
}

TimeNs FormulaWork(int64_t batch, int64_t steps, double millisecondsPerSample)
{
    constexpr double kPasses = 3; // the backward pass counts as two forward passes
    return RoundedTime(kPasses * static_cast<double>(batch) * static_cast<double>(steps) *
                       millisecondsPerSample * 1e6);
}

} // namespace legacy::fabric
