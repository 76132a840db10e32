// Values of a population's groups: numbers, rates, times and words that are drawn once for each
// client. A YAML value is one of
//
//   5Mbps                                        the same for all
//   {lognormal: {median: 5Mbps, sigma: 0.5}}     sigma is the deviation of the natural logarithm
//   {uniform: [1Mbps, 9Mbps]}
//   {choice: [[5Mbps, 3], [1Mbps, 1]]}           values with their weights
//   {csv: FILE, column: NAME, unit: kbps, pick: draw|in-order}
//                                                a row of the file, in units of `unit` (1 where not
//                                                given); in-order: row i for client i of the group
//
// Words (regions, profiles) are plain, or a choice.
#pragma once

#include "base/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace YAML
{
class Node;
} // namespace YAML

namespace legacy::fabric
{

/// A Quantity says how numbers of a value are written: 2.5, 5Mbps, 20ms.
enum class Quantity : uint8_t
{
    Number,
    Rate, ///< bits per second
    Time, ///< nanoseconds
};

/// A DrawnNumber is a distribution, or one number.
class DrawnNumber
{
  public:
    explicit DrawnNumber(double constant = 0);
    static DrawnNumber Lognormal(double median, double sigma);

    /// Reads a YAML value. Numbers must be within [least, most], in the base unit. `location`
    /// precedes messages. Throws Error with file, line and column.
    static DrawnNumber Read(const std::string& path,
                            const YAML::Node& node,
                            const std::string& key,
                            Quantity quantity,
                            double least,
                            double most);

    /// Returns the value of member `index` of a group; `hash` is that of (seed, client, field).
    /// What distributions without bounds draw is cut to the limits that were given to Read.
    double Draw(uint64_t hash, int64_t index) const;

    /// Returns true where all members have the same.
    bool Constant() const;

  private:
    enum class Kind : uint8_t
    {
        Constant,
        Lognormal,
        Uniform,
        Choice,
        InOrder,
    };

    /// A Source says where a value is written, and how its numbers are read.
    struct Source
    {
        const std::string& path;
        const std::string& key;
        const std::string& where;
        Quantity quantity;
        double least;
        double most;

        double Parse(const YAML::Node& value) const;
    };

    void ReadLognormal(const Source& source, const YAML::Node& map);
    void ReadUniform(const Source& source, const YAML::Node& pair);
    void ReadColumn(const Source& source, const YAML::Node& map);

    Kind m_kind = Kind::Constant;
    double m_first = 0;            ///< the number, the median, or the lower end
    double m_second = 0;           ///< sigma, or the upper end
    std::vector<double> m_values;  ///< of a choice, or of a file
    std::vector<double> m_weights; ///< cumulated, the last one 1; empty: all the same
    double m_least = 0;
    double m_most = 0;
};

/// A DrawnWord is a word, or a choice of words.
class DrawnWord
{
  public:
    explicit DrawnWord(std::string word = "");
    static DrawnWord Read(const std::string& path, const YAML::Node& node, const std::string& key);

    const std::string& Draw(uint64_t hash) const;
    const std::vector<std::string>& Words() const; ///< all that may be drawn

  private:
    std::vector<std::string> m_words;
    std::vector<double> m_weights; ///< cumulated, the last one 1
};

/// Returns a number of that quantity. Throws Error naming `where` unless it is within the limits.
double ParseQuantity(const std::string& text,
                     const std::string& where,
                     Quantity quantity,
                     double least,
                     double most);

/// Returns "FILE:LINE:COLUMN" of a node.
std::string NodeLocation(const std::string& path, const YAML::Node& node);

} // namespace legacy::fabric
