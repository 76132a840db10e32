// What measurements say of regions of clouds: rates and round-trip times between any two, and
// prices. Internal to fabric/; regions.h says what the files are.
#pragma once

#include "import.h"

#include "base/files/csv_file.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace legacy::fabric
{

/// A RegionPair is what the matrix says of an ordered pair.
struct RegionPair
{
    double gbps = 0;
    double rttMs = 0;
    bool suspect = false;
    std::string where; ///< empty: the matrix lacks it
    double usdPerGb = 0;
    bool priced = false;
};

/// A RegionMatrix has regions by their numbers and what is known of every two. Its functions throw
/// Error with file and line.
class RegionMatrix
{
  public:
    /// Adds to `report`, which outlives this object, what the files leave open.
    explicit RegionMatrix(ImportReport& report) : m_report(report)
    {
    }

    /// Adds a region, which is given at `where`, and returns its number.
    int Add(const std::string& name, const std::string& where);

    int Count() const
    {
        return static_cast<int>(m_names.size());
    }

    const std::string& Name(int region) const
    {
        return m_names[region];
    }

    /// Returns the number of a region; -1: there is none of that name.
    int Number(const std::string& name) const;

    /// Reads the measurements; `location` is where the file is named. Where `open` is true, regions
    /// of the file are added; otherwise those of others are left out.
    void ReadMeasurements(const std::string& path, const std::string& location, bool open);

    /// Settles pairs that the matrix lacks, which have the rate `missing`, bit/s, and pairs with a
    /// suspect round-trip time. Nothing, or `allowSuspect` false: there may be none. `location` is
    /// where the matrix is named.
    void Settle(std::optional<int64_t> missing, bool allowSuspect, const std::string& location);

    /// Reads prices; `location` is where the file is named.
    void ReadPrices(const std::string& path, const std::string& location);

    const RegionPair& Pair(int from, int to) const
    {
        return m_pairs[static_cast<size_t>(from) * m_names.size() + static_cast<size_t>(to)];
    }

  private:
    /// A Row is a line of the measurements.
    struct Row
    {
        int from = 0;
        int to = 0;
        RegionPair pair;
    };

    RegionPair& At(int from, int to)
    {
        return m_pairs[static_cast<size_t>(from) * m_names.size() + static_cast<size_t>(to)];
    }

    template <typename Each>
    void ForPairs(Each each);

    std::vector<Row> ReadRows(CsvFile& file, bool open, std::vector<char>& seen);
    void CheckSeen(const std::vector<char>& seen, const std::string& path) const;
    void Fill(std::vector<Row> rows);
    void SettleMissing(int64_t rate, int64_t missing, const std::string& location);
    void
    SkipColumns(const CsvFile& file, const char* of, std::initializer_list<std::string_view> known);

    ImportReport& m_report;
    std::vector<std::string> m_names;
    std::vector<std::string> m_places; ///< where regions are named
    std::unordered_map<std::string, int> m_numbers;
    std::vector<RegionPair> m_pairs; ///< from a region to a region, row by row
};

} // namespace legacy::fabric
