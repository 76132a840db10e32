// Attributes are what a node or a line of GML and GraphML carries: names and texts. Every writer
// spells them in its own way, so quantities are found by the words of their names, and by units in
// the name ("delay_ms") or in the text ("50 ms").
#pragma once

#include "import.h"
#include "network-map.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace legacy::fabric
{

/// A MapQuantity is what a number with a unit measures.
enum class MapQuantity
{
    Rate,   ///< bit/s
    Time,   ///< nanoseconds
    Length, ///< kilometres
    Share,  ///< a part of one
};

/// Attributes are those of one node or line, each of which is used or not.
class Attributes
{
  public:
    /// `where` is "file:line", for messages.
    Attributes(const RawAttributes& raw, const std::string& where);

    /// Returns the text of the attribute of exactly that name, and counts it as used; nullptr where
    /// there is none.
    const std::string* Take(std::string_view name);

    /// Returns the text of the first attribute that is called one of these, whatever the case and
    /// the separators, and counts it as used; nullptr likewise. `called` is set to its name.
    const std::string* TakeAny(const std::vector<std::string_view>& names, std::string* called);

    /// Counts an attribute as unused after all, with a reason.
    void Leave(std::string_view name, const std::string& why);

    /// A Range is what values may be, and the unit of numbers without one (0: it is not known).
    struct Range
    {
        MapQuantity quantity = MapQuantity::Rate;
        double bare = 0;
        double least = 0;
        double most = 0;
    };

    /// Returns `known`, or where it is nothing the value of the first attribute whose name is one
    /// of these, alone or with a unit after it, and whose text is in the range. Those that say
    /// something else, or have no unit, stay unused with a reason.
    std::optional<double> Find(const std::vector<std::string_view>& names,
                               const Range& range,
                               std::optional<double> known = std::nullopt);

    /// Reports what was not used.
    void Report(const std::string& of, ImportReport& report) const;

  private:
    struct One
    {
        std::string name;
        std::vector<std::string> words; ///< of the name, in lower case
        std::string text;
        bool several = false; ///< no text, but a list or several of them
        bool used = false;
        std::string why;
    };

    /// Marks the attribute as used. Throws Error where it is given several times.
    const std::string& Use(One& one) const;

    std::string m_where;
    std::vector<One> m_all;
};

/// Returns the value of a text such as "50 ms", "100 Mbit", "0.1%" or "12", the last one times
/// `bare`; nothing where it is not such a value.
std::optional<double> ValueOf(std::string_view text, MapQuantity quantity, double bare);

} // namespace legacy::fabric
