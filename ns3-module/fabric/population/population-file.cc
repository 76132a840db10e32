// Populations from the text of a request, and populations of silos from CSV.
#include "population-readers.h"

#include "base/error.h"
#include "base/files/csv_file.h"

#include <utility>

namespace legacy::fabric
{

namespace
{

Population ReadSilos(const std::string& path, const PopulationRequest& request)
{
    CsvFile file(path, request.option);
    const size_t name = file.Column("name");
    const size_t region = file.Column("region");
    const size_t down = file.Column("down");
    const size_t up = file.Column("up");
    std::vector<Group> groups;
    while (file.Next())
    {
        const auto rate = [&](size_t column) {
            return static_cast<double>(
                ParseRate(std::string(file.Text(column)), file.Where(column)));
        };
        const auto number = [&](const char* column, double fallback, double least, double most)
        {
            return DrawnNumber(file.Has(column) ? file.Number(file.Column(column), least, most)
                                                : fallback);
        };
        Group group;
        group.name = file.Text(name);
        group.at = DrawnWord(std::string(file.Text(region)));
        group.down = DrawnNumber(rate(down));
        group.up = DrawnNumber(rate(up));
        group.slowdown = number("slowdown", 1, 1e-6, kMostSlowdown);
        group.priceHour = number("price_hour", 0, 0, kMostUsdPerHour);
        group.samples = number("samples", 1, 1, kMostSamples);
        if (file.Has("delay"))
        {
            const size_t delay = file.Column("delay");
            group.delay = DrawnNumber(
                static_cast<double>(ParseTime(std::string(file.Text(delay)), file.Where(delay))));
        }
        if (file.Has("profile"))
        {
            group.profile = DrawnWord(std::string(file.Text(file.Column("profile"))));
        }
        groups.push_back(std::move(group));
    }
    if (groups.empty())
    {
        throw Error(path + ": no rows");
    }
    return WithTrace(std::move(groups), ServerSite{}, request);
}

} // namespace

Population MakePopulation(const PopulationRequest& request)
{
    const auto ends = [&](const std::string& suffix)
    {
        return request.text.size() > suffix.size() &&
               request.text.compare(request.text.size() - suffix.size(), suffix.size(), suffix) ==
                   0;
    };
    const std::string silos = "silos:";
    if (request.clients && (*request.clients < 1 || *request.clients > kMostClients))
    {
        throw Error("clients", std::to_string(*request.clients), "1 to 2147483647");
    }
    const bool file = ends(".yaml") || ends(".yml");
    if (!file && request.text.compare(0, silos.size(), silos) != 0)
    {
        return MakePopulationPreset(request);
    }
    Population population =
        file ? ReadPopulationYaml(request) : ReadSilos(request.text.substr(silos.size()), request);
    if (request.usdPerGb)
    {
        throw Error("price", "a price", "none: groups of a file have their own");
    }
    if (request.clients && *request.clients != population.Clients())
    {
        throw Error("clients",
                    std::to_string(*request.clients),
                    std::to_string(population.Clients()) + ", as " + request.text + " has");
    }
    return population;
}

} // namespace legacy::fabric
