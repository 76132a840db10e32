// The numbers of htsim's topology files: of the header, and of each tier of switches. Internal to
// import/.
#pragma once

#include "base/words.h"

#include <array>
#include <map>
#include <string>

namespace legacy::fabric
{

/// Most tiers of a file.
inline constexpr int kMostHtsimTiers = 3;

/// A HtsimValue is a number of the file with its place; an empty place: it was not given.
struct HtsimValue
{
    double number = 0;
    std::string where;

    bool Given() const
    {
        return !where.empty();
    }

    int Int() const
    {
        return static_cast<int>(number);
    }
};

struct HtsimKey;

/// HtsimNumbers are the keys of a file with their numbers. Functions throw Error with the place in
/// the file.
class HtsimNumbers
{
  public:
    /// Reads the file.
    explicit HtsimNumbers(const std::string& path);

    /// Returns a number of the header, which it needs.
    const HtsimValue& Header(const std::string& key) const;
    /// Returns a number of a tier, or `fallback`, which has no place.
    HtsimValue Of(int tier, const std::string& key, double fallback) const;
    /// Returns a number that the tier needs.
    HtsimValue Need(int tier, const std::string& key) const;
    /// Returns where a tier begins; empty: the file has no such tier.
    const std::string& TierWhere(int tier) const
    {
        return m_tierWhere[tier];
    }

  private:
    using Values = std::map<std::string, HtsimValue>;

    void ReadLines();
    void
    ReadKey(const std::string& key, const HtsimKey* begin, const HtsimKey* end, Values& values);

    std::string m_path;
    WordLines m_lines;
    Values m_header;
    std::array<Values, kMostHtsimTiers> m_tiers;
    std::array<std::string, kMostHtsimTiers> m_tierWhere;
};

/// Returns a key of the file as messages and tables write it.
std::string LowerCase(std::string text);

} // namespace legacy::fabric
