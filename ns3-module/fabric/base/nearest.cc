#include "nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace legacy::fabric
{

std::size_t EditDistance(const std::string& a, const std::string& b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i)
    {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j)
        {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

std::string Nearest(const std::string& name, const std::vector<std::string>& known)
{
    std::string nearest;
    std::size_t least = (name.size() + 1) / 2 + 1;
    for (const std::string& candidate : known)
    {
        const std::size_t distance = EditDistance(name, candidate);
        if (distance < least)
        {
            least = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

Error NotAmong(const std::string& option,
               const std::string& value,
               const std::vector<std::string>& known,
               const std::string& also)
{
    std::string allowed;
    for (const std::string& candidate : known)
    {
        allowed += (allowed.empty() ? "" : ", ") + candidate;
    }
    if (!also.empty())
    {
        allowed += (allowed.empty() ? "" : ", ") + also;
    }
    const std::string nearest = Nearest(value, known);
    return Error(option + ": got '" + value + "'" +
                 (nearest.empty() ? "" : "; did you mean " + nearest + "?") +
                 "; allowed: " + (allowed.empty() ? "no keys" : allowed));
}

} // namespace legacy::fabric
