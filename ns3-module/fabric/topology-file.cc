#include "topology-file.h"

#include "error.h"

#include <fstream>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

std::string Place(const std::string& path, const YAML::Mark& mark)
{
    if (mark.is_null())
    {
        return path;
    }
    return path + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

/// Sets every scalar below `map`, its key preceded by `prefix`.
void Flatten(const std::string& path,
             const YAML::Node& map,
             const std::string& prefix,
             Settings& settings)
{
    for (const auto& entry : map)
    {
        const std::string where = Place(path, entry.first.Mark());
        if (!entry.first.IsScalar())
        {
            throw Error(where + ": a key must be a plain word");
        }
        const std::string key = prefix + entry.first.Scalar();
        if (entry.second.IsMap() && prefix.empty())
        {
            Flatten(path, entry.second, key + ".", settings);
        }
        else if (entry.second.IsScalar())
        {
            settings.Set(key, entry.second.Scalar(), where);
        }
        else
        {
            throw Error(where + ": " + key,
                        entry.second.IsNull() ? "nothing" : "a list or a map",
                        prefix.empty() ? "one value, or the rate, delay and queue of a tier"
                                       : "one value");
        }
    }
}

} // namespace

Settings LoadTopologyFile(const std::string& path)
{
    std::ifstream file(path);
    if (!file)
    {
        throw Error("topology", path, "a readable file, or a topology's name");
    }
    try
    {
        const YAML::Node root = YAML::Load(file);
        if (!root.IsMap() || !root["type"] || !root["type"].IsScalar())
        {
            throw Error(Place(path, root.Mark()) +
                        ": a topology file is a map with the key 'type'");
        }
        const YAML::Node type = root["type"];
        Settings settings(Place(path, type.Mark()), type.Scalar());
        Flatten(path, root, "", settings);
        settings.Text("type", ""); // read here
        return settings;
    }
    catch (const YAML::Exception& error)
    {
        throw Error(Place(path, error.mark) + ": " + error.msg);
    }
}

} // namespace legacy::fabric
