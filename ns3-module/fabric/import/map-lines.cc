#include "map-lines.h"

#include "base/error.h"
#include "base/words.h"
#include "fabric/topology/types.h"

#include <algorithm>
#include <map>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// A LineMerger merges the lines of a map one by one, and counts the assumptions that it makes.
class LineMerger
{
  public:
    LineMerger(const NetworkMap& map, int64_t defaultRate) : m_map(map), m_defaultRate(defaultRate)
    {
    }

    /// Adds a line between two nodes; `kept` says whether both are kept or both are not.
    void Add(const MapLine& line, bool kept)
    {
        if (line.a == line.b)
        {
            ++m_loops;
            return;
        }
        const auto [low, high] = std::minmax({line.a, line.b});
        const auto key = line.directed ? std::make_pair(line.a, line.b) : std::make_pair(low, high);
        m_parallel += m_counts[key]++ > 0;
        if (!kept)
        {
            return;
        }
        ++m_lines;
        const auto [entry, added] = m_positions.emplace(std::make_pair(low, high), m_merged.size());
        if (added)
        {
            MergedLine merged;
            merged.a = line.a;
            merged.b = line.b;
            m_merged.push_back(merged);
        }
        const bool stated = line.rateBps[0] > 0;
        if (!stated || line.rateSource != Assumed::Speed)
        {
            ++m_sources[line.rateSource];
        }
        Merge(line, m_merged[entry->second]);
    }

    void Report(ImportReport& report)
    {
        report.Add(Assumed::Loop,
                   m_loops,
                   CountOf(m_loops, "line leads", "lines lead") +
                       " from a node to itself: dropped");
        report.Add(Assumed::Parallel,
                   m_parallel,
                   CountOf(m_parallel, "line has", "lines have") +
                       " the ends of an earlier one: merged with it, the rates add");
        report.Skip("links", "longer delays between the same two nodes", m_unequal);
        ReportRates(Assumed::Speed,
                    " without a speed: " + FormatRate(m_defaultRate) + " each (default_rate)",
                    report);
        ReportRates(
            Assumed::LabelledSpeed, " with a speed in a label only: read from its words", report);
        ReportRates(Assumed::ModuleSpeed,
                    " without an installed capacity: one of the smallest module",
                    report);
    }

    std::vector<MergedLine> Take()
    {
        return std::move(m_merged);
    }

  private:
    void Merge(const MapLine& line, MergedLine& merged)
    {
        const bool turned = line.a != merged.a;
        AddRates(line, turned, merged);
        if (line.delay)
        {
            m_unequal += merged.delay && *merged.delay != *line.delay;
            merged.delay = std::min(*line.delay, merged.delay.value_or(kNever));
        }
        if (line.km)
        {
            merged.km = std::min(*line.km, merged.km.value_or(*line.km));
        }
        for (int way = 0; way < 2; ++way)
        {
            const int of = turned ? 1 - way : way;
            merged.queueBytes[way] = std::max(merged.queueBytes[way], line.queueBytes[of]);
            merged.errorRate[way] = std::max(merged.errorRate[way], line.errorRate[of]);
            merged.usdPerGb[way] = std::max(merged.usdPerGb[way], line.usdPerGb[of]);
        }
    }

    void AddRates(const MapLine& line, bool turned, MergedLine& merged) const
    {
        constexpr const char* kTooFast = "at most 1000 Tbit/s for all lines between two nodes";
        for (int way = 0; way < 2; ++way)
        {
            const int64_t stated = line.rateBps[turned ? 1 - way : way];
            const int64_t rate = stated > 0 ? stated : m_defaultRate;
            const bool carries = !line.directed || (way == 1) == turned;
            (line.directed ? merged.oneWay : merged.eachWay)[way] += carries ? rate : 0;
        }
        for (const int64_t rate : merged.Rates())
        {
            if (rate > kMostRate)
            {
                throw Error(m_map.At(line.line) + ": rate", FormatRate(rate), kTooFast);
            }
        }
    }

    void ReportRates(Assumed source, const std::string& text, ImportReport& report)
    {
        const int64_t count = m_sources[source];
        report.Add(source,
                   count,
                   std::to_string(count) + " of " + CountOf(m_lines, "line", "lines") + text);
    }

    const NetworkMap& m_map;
    const int64_t m_defaultRate;
    std::vector<MergedLine> m_merged;
    std::map<std::pair<int, int>, size_t> m_positions;
    std::map<std::pair<int, int>, int> m_counts; ///< undirected by (low, high), directed by (a, b)
    std::map<Assumed, int64_t> m_sources;
    int64_t m_lines = 0;
    int64_t m_loops = 0;
    int64_t m_parallel = 0;
    int64_t m_unequal = 0; ///< lines with other delays than earlier ones with these ends
};

} // namespace

std::array<int64_t, 2> MergedLine::Rates() const
{
    const int64_t there = oneWay[0] > 0 ? oneWay[0] : oneWay[1];
    const int64_t back = oneWay[1] > 0 ? oneWay[1] : oneWay[0];
    return {eachWay[0] + there, eachWay[1] + back};
}

std::vector<MergedLine> MergeMapLines(const NetworkMap& map,
                                      const std::vector<char>& kept,
                                      int64_t defaultRate,
                                      ImportReport& report)
{
    LineMerger merger(map, defaultRate);
    for (const MapLine& line : map.lines)
    {
        merger.Add(line, kept[line.a] != 0);
    }
    merger.Report(report);
    return merger.Take();
}

} // namespace legacy::fabric
