// Draws one trace for each client from all files that match a pattern.
#include "base/error.h"
#include "population.h"

#include <algorithm>
#include <filesystem>
#include <fnmatch.h>
#include <iterator>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns the files that match a pattern, in the order of their names. "*" and "?" stand for
/// characters of a file's name, not of a folder's.
std::vector<std::string> FilesOf(const std::string& pattern, const std::string& location)
{
    const std::filesystem::path path(pattern);
    const std::string name = path.filename().string();
    if (name.find_first_of("*?[") == std::string::npos)
    {
        return {pattern};
    }
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    std::vector<std::string> files;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    {
        if (fnmatch(name.c_str(), entry.path().filename().c_str(), 0) == 0)
        {
            files.push_back(entry.path().string());
        }
    }
    if (files.empty())
    {
        throw Error(location, pattern, "a file, or a pattern such as lte/*.csv that names some");
    }
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

DrawnTrace ReadDrawnTrace(Settings& settings)
{
    DrawnTrace drawn;
    TraceRequest request = TraceRequestOf(settings);
    ScheduleSpec scaling;
    SetScaling(settings, scaling);
    drawn.toMean = scaling.toMean;
    drawn.scale = scaling.scale;
    const std::string direction = settings.Text("direction", "both");
    const std::string upColumn = settings.Text("up_column", request.column);
    if (direction != "both" && direction != "down" && direction != "up")
    {
        throw Error(settings.Location("direction"), direction, "both, down, up");
    }
    if (settings.Has("offset"))
    {
        throw Error(settings.Location("offset"),
                    settings.Text("offset", ""),
                    "nothing: each client draws its own");
    }
    drawn.drivesDown = direction != "up";
    drawn.drivesUp = direction != "down";
    settings.RejectUnread();
    for (const std::string& file : FilesOf(request.file, settings.Location("file")))
    {
        request.file = file;
        std::vector<Trace> traces = ReadTraces(request);
        TraceRequest up = request;
        up.column = upColumn;
        std::vector<Trace> upTraces = upColumn == request.column ? traces : ReadTraces(up);
        std::move(traces.begin(), traces.end(), std::back_inserter(drawn.down));
        std::move(upTraces.begin(), upTraces.end(), std::back_inserter(drawn.up));
    }
    return drawn;
}

} // namespace legacy::fabric
