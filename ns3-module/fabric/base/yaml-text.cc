#include "yaml-text.h"

#include <sstream>
#include <vector>

namespace legacy::fabric
{

YAML::Node LoadYaml(std::istream& text)
{
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    for (size_t i = 1; i < documents.size(); ++i)
    {
        if (!documents[i].IsNull())
        {
            throw YAML::ParserException(documents[i].Mark(), "a second document; allowed: one");
        }
    }
    return documents.empty() ? YAML::Node() : documents[0];
}

YAML::Node LoadYaml(const std::string& text)
{
    std::istringstream in(text);
    return LoadYaml(in);
}

} // namespace legacy::fabric
