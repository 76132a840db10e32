#include "controls.h"

#include "base/error.h"
#include "base/nearest.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

namespace
{

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Reads "key=value+key=value" behind the colon, if there is one.
Pairs ReadPairs(const std::string& text, const std::string& option)
{
    Pairs pairs;
    size_t begin = text.find(':');
    while (begin != std::string::npos)
    {
        const size_t plus = text.find('+', begin + 1);
        const size_t length = plus == std::string::npos ? plus : plus - begin - 1;
        const std::string item = text.substr(begin + 1, length);
        const size_t equals = item.find('=');
        if (equals == std::string::npos || equals == 0)
        {
            throw Error(option, text, "NAME:key=value+key=value; '" + item + "' is not key=value");
        }
        pairs.emplace_back(item.substr(0, equals), item.substr(equals + 1));
        begin = plus;
    }
    return pairs;
}

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

std::string NameOf(const std::string& text)
{
    return text.substr(0, text.find(':'));
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
    const RoceControlRow& row = RowOf(NameOf(text), option);
    std::vector<std::string> known;
    for (const RoceKey& key : row.keys)
    {
        known.push_back(key.name);
    }
    Settings settings(option + ": " + row.name, row.name);
    for (const auto& [key, value] : ReadPairs(text, option))
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
    Pairs pairs = ReadPairs(text, option);
    std::sort(pairs.begin(), pairs.end());
    std::string canonical = NameOf(text);
    for (size_t i = 0; i < pairs.size(); ++i)
    {
        canonical += (i == 0 ? ":" : "+") + pairs[i].first + "=" + pairs[i].second;
    }
    return canonical;
}

std::string DescribeRoceControls()
{
    std::string text;
    for (const RoceControlRow& row : RoceControls())
    {
        text +=
            row.name + ": " + row.help + (row.paper.empty() ? "" : " (" + row.paper + ")") + "\n";
        for (const RoceKey& key : row.keys)
        {
            text += "  " + key.name + " = " + (key.fallback.empty() ? key.depends : key.fallback) +
                    " (" + key.allowed + "): " + key.help + " [" + key.source + "]\n";
        }
    }
    return text;
}

} // namespace legacy::fabric
