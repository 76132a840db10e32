#include "region-matrix.h"

#include "base/error.h"
#include "base/words.h"
#include "fabric/topology/types.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr int kMostRegions = 1024;
constexpr double kMostGbps = 1e6;
constexpr double kMostRttMs = 1e7;
constexpr double kMostUsd = 1e6; ///< per GB

} // namespace

int RegionMatrix::Add(const std::string& name, const std::string& where)
{
    const int number = Count();
    if (name.empty() || !m_numbers.emplace(name, number).second)
    {
        throw Error(where + ": regions", Shown(name), "each region once");
    }
    if (number == kMostRegions)
    {
        throw Error(where + ": regions", Shown(name), "at most " + std::to_string(kMostRegions));
    }
    m_names.push_back(name);
    m_places.push_back(where);
    return number;
}

int RegionMatrix::Number(const std::string& name) const
{
    const auto found = m_numbers.find(name);
    return found == m_numbers.end() ? -1 : found->second;
}

void RegionMatrix::SkipColumns(const CsvFile& file,
                               const char* of,
                               std::initializer_list<std::string_view> known)
{
    for (const std::string& column : file.Columns())
    {
        const bool used = std::find(known.begin(), known.end(), column) != known.end();
        m_report.Skip(of, "column " + Shown(column), used ? 0 : 1);
    }
}

void RegionMatrix::ReadMeasurements(const std::string& path, const std::string& location, bool open)
{
    CsvFile file(path, location);
    std::vector<char> seen(m_names.size(), 0);
    std::vector<Row> rows = ReadRows(file, open, seen);
    CheckSeen(seen, path);
    if (m_names.empty())
    {
        throw Error(file.Where() + ": rows", "none", "at least one");
    }
    Fill(std::move(rows));
}

/// Returns the rows of the wanted regions, and records in `seen` which regions have any rows.
std::vector<RegionMatrix::Row>
RegionMatrix::ReadRows(CsvFile& file, bool open, std::vector<char>& seen)
{
    const size_t src = file.Column("src");
    const size_t dst = file.Column("dst");
    const size_t gbps = file.Column("gbps");
    const size_t rtt = file.Column("rtt_ms");
    const bool rated = file.Has("rtt_suspect");
    SkipColumns(file, "the matrix", {"src", "dst", "gbps", "rtt_ms", "rtt_suspect"});
    const size_t suspect = rated ? file.Column("rtt_suspect") : 0;
    std::vector<Row> rows;
    while (file.Next())
    {
        Row row;
        row.pair.gbps = file.Number(gbps, 1e-9, kMostGbps);
        row.pair.rttMs = file.Number(rtt, 0, kMostRttMs);
        row.pair.suspect = rated && file.Whole(suspect, 0, 1) == 1;
        row.pair.where = file.Where();
        int* ends[] = {&row.from, &row.to};
        for (size_t end = 0; end < 2; ++end)
        {
            const std::string name(file.Text(end == 0 ? src : dst));
            *ends[end] = Number(name);
            if (*ends[end] < 0 && open)
            {
                *ends[end] = Add(name, file.Where(end == 0 ? src : dst));
                seen.push_back(1);
            }
            else if (*ends[end] >= 0)
            {
                seen[*ends[end]] = 1;
            }
        }
        if (file.Text(src) == file.Text(dst))
        {
            throw Error(file.Where(dst), Shown(file.Text(dst)), "another region than src");
        }
        if (row.from >= 0 && row.to >= 0)
        {
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

void RegionMatrix::CheckSeen(const std::vector<char>& seen, const std::string& path) const
{
    for (size_t i = 0; i < seen.size(); ++i)
    {
        if (!seen[i])
        {
            throw Error(m_places[i] + ": regions", Shown(m_names[i]), "a region of " + path);
        }
    }
}

void RegionMatrix::Fill(std::vector<Row> rows)
{
    m_pairs.resize(m_names.size() * m_names.size());
    for (Row& row : rows)
    {
        RegionPair& pair = At(row.from, row.to);
        if (!pair.where.empty())
        {
            throw Error(row.pair.where + ": pair",
                        Shown(m_names[row.from] + ", " + m_names[row.to]),
                        "each pair once; it is also at " + pair.where);
        }
        pair = std::move(row.pair);
    }
}

template <typename Each>
void RegionMatrix::ForPairs(Each each)
{
    for (int from = 0; from < Count(); ++from)
    {
        for (int to = 0; to < Count(); ++to)
        {
            if (from != to)
            {
                each(from, to, At(from, to));
            }
        }
    }
}

void RegionMatrix::Settle(std::optional<int64_t> rate,
                          bool allowSuspect,
                          const std::string& location)
{
    int64_t missing = 0;
    int64_t suspect = 0;
    const RegionPair* firstSuspect = nullptr;
    std::pair<int, int> firstMissing;
    ForPairs(
        [&](int from, int to, const RegionPair& pair)
        {
            if (pair.where.empty() && missing++ == 0)
            {
                firstMissing = {from, to};
            }
            if (pair.suspect && suspect++ == 0)
            {
                firstSuspect = &pair;
            }
        });
    if (firstSuspect && !allowSuspect)
    {
        throw Error(firstSuspect->where + ": rtt_suspect",
                    "1, as of " + CountOf(suspect, "pair", "pairs"),
                    "0, other regions, or suspect: allow");
    }
    if (missing > 0 && !rate)
    {
        throw Error(location,
                    "no row of " + Shown(m_names[firstMissing.first]) + ", " +
                        Shown(m_names[firstMissing.second]) + " and " +
                        std::to_string(missing - 1) + " more",
                    "every ordered pair, or a rate as missing: 1Gbps");
    }
    m_report.Add(Assumed::Suspect,
                 suspect,
                 CountOf(suspect, "ordered pair", "ordered pairs") +
                     " with a suspect round-trip time: taken as it is");
    if (missing > 0)
    {
        SettleMissing(*rate, missing, location);
    }
}

void RegionMatrix::SettleMissing(int64_t rate, int64_t missing, const std::string& location)
{
    ForPairs(
        [&](int from, int to, RegionPair& pair)
        {
            if (!pair.where.empty())
            {
                return;
            }
            const RegionPair& back = At(to, from);
            if (back.where.empty())
            {
                throw Error(location,
                            "no row of " + Shown(m_names[from]) + ", " + Shown(m_names[to]) +
                                " in either direction",
                            "a round-trip time of every two regions");
            }
            pair.rttMs = back.rttMs;
        });
    m_report.Add(Assumed::MissingPair,
                 missing,
                 CountOf(missing, "ordered pair", "ordered pairs") + " without a measurement: " +
                     FormatRate(rate) + " each, and the other direction's round-trip time");
}

void RegionMatrix::ReadPrices(const std::string& path, const std::string& location)
{
    CsvFile file(path, location);
    const size_t src = file.Column("src");
    const size_t dst = file.Column("dst");
    const size_t price = file.Column("usd_per_gb");
    SkipColumns(file, "the prices", {"src", "dst", "usd_per_gb"});
    while (file.Next())
    {
        const int from = Number(std::string(file.Text(src)));
        const int to = Number(std::string(file.Text(dst)));
        const double usd = file.Number(price, 0, kMostUsd);
        if (from < 0 || to < 0 || from == to)
        {
            continue;
        }
        RegionPair& pair = At(from, to);
        if (pair.priced)
        {
            throw Error(file.Where() + ": pair",
                        Shown(m_names[from] + ", " + m_names[to]),
                        "each pair once");
        }
        pair.priced = true;
        pair.usdPerGb = usd;
    }
    int64_t free = 0;
    ForPairs([&free](int, int, const RegionPair& pair) { free += pair.priced ? 0 : 1; });
    m_report.Add(Assumed::Price,
                 free,
                 CountOf(free, "ordered pair", "ordered pairs") +
                     " without a price: free of charge");
}

} // namespace legacy::fabric
