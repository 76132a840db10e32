#include "controls.h"

#include "base/error.h"
#include "base/nearest.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

// The rows of the controls, each of which is defined in its own file.
RoceControlRow DcqcnRow();
RoceControlRow HpccRow();
RoceControlRow TimelyRow();
RoceControlRow SwiftRow();

namespace
{

const RoceControlRow& RowOf(const std::string& name, const std::string& option)
{
    std::vector<std::string> known;
    for (const RoceControlRow& row : RoceControls())
    {
        if (row.name == name)
        {
            return row;
        }
        known.push_back(row.name);
    }
    throw NotAmong(option, name, known);
}

} // namespace

const std::vector<RoceControlRow>& RoceControls()
{
    static const std::vector<RoceControlRow> rows = {
        DcqcnRow(), HpccRow(), TimelyRow(), SwiftRow(), NoControlRow()};
    return rows;
}

std::unique_ptr<const RoceControl> MakeRoceControl(const std::string& text,
                                                   const std::string& option)
{
    const NamedValues given = ReadNamedValues(text, option, '+');
    const RoceControlRow& row = RowOf(given.name, option);
    std::vector<std::string> known;
    for (const RoceKey& key : row.keys)
    {
        known.push_back(key.name);
    }
    Settings settings(option + ": " + row.name, row.name);
    for (const auto& [key, value] : given.values)
    {
        if (std::find(known.begin(), known.end(), key) == known.end())
        {
            throw NotAmong(option + ": unknown key of " + row.name, key, known);
        }
        settings.Set(key, value);
    }
    for (const RoceKey& key : row.keys)
    {
        if (!settings.Has(key.name) && !key.fallback.empty())
        {
            settings.Set(key.name, key.fallback);
        }
    }
    std::unique_ptr<const RoceControl> control = row.make(settings);
    settings.RejectUnread();
    return control;
}

std::string CanonicalRoceControl(const std::string& text, const std::string& option)
{
    NamedValues given = ReadNamedValues(text, option, '+');
    std::sort(given.values.begin(), given.values.end());
    std::string canonical = given.name;
    char separator = ':';
    for (const auto& [key, value] : given.values)
    {
        canonical += separator + key + "=" + value;
        separator = '+';
    }
    return canonical;
}

} // namespace legacy::fabric
