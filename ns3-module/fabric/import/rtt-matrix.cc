#include "rtt-matrix.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/median.h"
#include "base/words.h"
#include "fabric/topology/types.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace legacy::fabric
{

namespace
{

constexpr double kMostRtt = 1e9; ///< in the unit of the file

/// Returns the row of the server. All rows are checked, but only this one is kept.
std::vector<double> ServerRow(WordLines& lines, int server, std::string& where, size_t& rows)
{
    std::vector<double> row;
    size_t columns = 0;
    for (rows = 0; lines.Advance(); ++rows)
    {
        columns = rows == 0 ? lines.Count() : columns;
        if (lines.Count() != columns || rows >= columns)
        {
            throw Error(lines.Location(0) + ": row " + std::to_string(rows),
                        std::to_string(lines.Count()) + " values",
                        "a square matrix, of " + std::to_string(columns) + " rows and columns");
        }
        const bool wanted = static_cast<int>(rows) == server;
        for (size_t i = 0; i < columns; ++i)
        {
            const double value = lines.Real(i, "round-trip time", 0, kMostRtt);
            if (wanted)
            {
                row.push_back(value);
            }
        }
        where = wanted ? lines.Location(0) : where;
    }
    if (rows != columns || rows < 2)
    {
        throw Error(lines.End(),
                    std::to_string(rows) + " rows of " + std::to_string(columns) + " values",
                    "a square matrix of 2 rows or more");
    }
    return row;
}

/// Returns the times above 0 of the server's row. Throws Error if there are none, or if one is
/// missing and `complete` is true.
std::vector<double>
KnownTimes(const std::vector<double>& row, int server, bool complete, const std::string& where)
{
    std::vector<double> known;
    for (int host = 0; host < static_cast<int>(row.size()); ++host)
    {
        if (host != server && row[host] > 0)
        {
            known.push_back(row[host]);
        }
        else if (host != server && complete)
        {
            throw Error(where + ": round-trip time of row " + std::to_string(server) +
                            " and column " + std::to_string(host),
                        "0",
                        "a time above 0, or missing=median");
        }
    }
    if (known.empty())
    {
        throw Error(where + ": round-trip times of row " + std::to_string(server),
                    "none above 0",
                    "at least one");
    }
    return known;
}

/// Reads the row of the server, and checks how many hosts it has.
std::vector<double>
CheckedRow(const std::string& path, const Settings& options, int server, std::string& where)
{
    WordLines lines(path, ReadText(path));
    size_t rows = 0;
    std::vector<double> row = ServerRow(lines, server, where, rows);
    if (row.empty())
    {
        throw Error(options.Location("server"),
                    std::to_string(server),
                    "a row of " + path + ", 0 to " + std::to_string(rows - 1));
    }
    if (row.size() > static_cast<size_t>(TopologyBuild::kMaxHosts))
    {
        throw Error(path + ": rows",
                    std::to_string(row.size()),
                    "at most " + std::to_string(TopologyBuild::kMaxHosts));
    }
    return row;
}

} // namespace

ImportedTopology
ReadRttMatrix(const std::string& path, Settings& options, const LinkDefaults& defaults)
{
    const std::string unit = options.Text("unit", "");
    if (unit != "ms" && unit != "s")
    {
        throw Error(options.Location("unit"), unit.empty() ? "nothing" : unit, "unit=ms, unit=s");
    }
    const double nanoseconds = unit == "ms" ? 1e6 : 1e9;
    const int server = options.Int("server", 0, 0, TopologyBuild::kMaxHosts - 1);
    const std::string missing = options.Text("missing", "error");
    if (missing != "error" && missing != "median")
    {
        throw Error(options.Location("missing"), missing, "error, median");
    }
    Port port;
    port.rateBps = options.Rate("rate", defaults.rateBps);
    port.queueBytes = options.Bytes("queue", defaults.queueBytes);
    const int64_t serverRate = options.Rate("server_rate", port.rateBps);

    std::string where;
    const std::vector<double> row = CheckedRow(path, options, server, where);
    const auto hosts = static_cast<int>(row.size());
    const std::vector<double> known = KnownTimes(row, server, missing == "error", where);
    const double median = Median(known);

    ImportedTopology result;
    for (int host = 0; host < hosts; ++host)
    {
        result.topology.AddHost("host" + std::to_string(host));
    }
    const int hub = result.topology.AddSwitch("hub");
    for (int host = 0; host < hosts; ++host)
    {
        const double rtt = host == server ? 0 : row[host] > 0 ? row[host] : median;
        Port own = port;
        own.rateBps = host == server ? serverRate : port.rateBps;
        const TimeNs delay = RoundedTime(rtt * nanoseconds / 2);
        result.topology.AddLink(Link(host, hub, delay, own));
    }
    const auto absent = static_cast<int64_t>(hosts - 1 - known.size());
    result.report.Add(Assumed::RoundTrip,
                      absent,
                      CountOf(absent, "round-trip time", "round-trip times") + " of the server's " +
                          std::to_string(hosts - 1) + " missing: the median, " +
                          FormatTime(RoundedTime(median * nanoseconds)));
    result.report.Skip("the file", "rows of hosts other than the server", hosts - 1);
    result.topology.SetName(OneLine(std::filesystem::path(path).stem().string()));
    return result;
}

} // namespace legacy::fabric
