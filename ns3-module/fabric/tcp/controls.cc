#include "controls.h"

#include "base/nearest.h"
#include "base/parse.h"

#include <algorithm>

namespace legacy::fabric
{

// The rows of the controls, each of which is defined in its own file.
TcpControlRow RenoRow();
TcpControlRow CubicRow();
TcpControlRow DctcpRow();
TcpControlRow BbrRow();

namespace
{

std::vector<std::string> Names()
{
    std::vector<std::string> names;
    for (const TcpControlRow& row : TcpControls())
    {
        names.push_back(row.name);
    }
    return names;
}

} // namespace

const std::vector<TcpControlRow>& TcpControls()
{
    static const std::vector<TcpControlRow> rows = {RenoRow(), CubicRow(), DctcpRow(), BbrRow()};
    return rows;
}

std::string TcpControlNames(const std::string& separator)
{
    return Join(Names(), separator);
}

std::string ParseCongestionControl(const std::string& text, const std::string& option)
{
    const std::vector<std::string> names = Names();
    if (std::find(names.begin(), names.end(), text) == names.end())
    {
        throw NotAmong(option, text, names);
    }
    return text;
}

std::unique_ptr<TcpCongestion> MakeTcpCongestion(const std::string& name)
{
    for (const TcpControlRow& row : TcpControls())
    {
        if (row.name == name)
        {
            return row.make();
        }
    }
    return nullptr;
}

} // namespace legacy::fabric
