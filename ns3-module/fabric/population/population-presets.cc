// Populations without a file: lines that are all the same, and phones.
#include "population-readers.h"

#include "base/error.h"
#include "base/settings.h"

#include <utility>

namespace legacy::fabric
{

namespace
{

// Geometric means, which are the medians of lognormal distributions, and standard deviations of the
// natural logarithm: of the mean link speeds of 19 phones, and of the scores of 333 phones.
constexpr double kPhoneDown = 41.4e6;
constexpr double kPhoneDownSigma = .471;
constexpr double kPhoneUp = 24.8e6;
constexpr double kPhoneUpSigma = .682;
constexpr double kPhoneSlowdownSigma = 1.361;
// No source gives the delays of these phones; the values are assumed.
constexpr double kPhoneDelay = 25e6;
constexpr double kPhoneDelaySigma = .4;

} // namespace

Population MakePopulationPreset(const PopulationRequest& request)
{
    Settings settings = Settings::FromText(request.text, request.option);
    const bool phones = settings.Type() == "phones";
    if (!phones && settings.Type() != "broadband")
    {
        throw Error(request.option, request.text, "broadband, phones, silos:FILE, FILE.yaml");
    }
    Group group;
    group.name = settings.Type();
    group.count = request.clients.value_or(100);
    group.down =
        phones ? DrawnNumber::Lognormal(kPhoneDown, kPhoneDownSigma) : DrawnNumber(kBroadbandDown);
    group.up = phones ? DrawnNumber::Lognormal(kPhoneUp, kPhoneUpSigma) : DrawnNumber(kBroadbandUp);
    group.delay = phones ? DrawnNumber::Lognormal(kPhoneDelay, kPhoneDelaySigma)
                         : DrawnNumber(static_cast<double>(kBroadbandDelay));
    group.slowdown = phones ? DrawnNumber::Lognormal(1, kPhoneSlowdownSigma) : DrawnNumber(1);
    group.profile = DrawnWord(phones ? "phone-assumed" : "");
    group.samples = DrawnNumber(1);
    for (auto [key, value] : {std::pair<const char*, DrawnNumber*>{"down", &group.down},
                              std::pair<const char*, DrawnNumber*>{"up", &group.up}})
    {
        if (settings.Has(key))
        {
            *value = DrawnNumber(static_cast<double>(settings.Rate(key, 0)));
        }
        settings.Text(key, "");
    }
    if (settings.Has("delay"))
    {
        group.delay = DrawnNumber(static_cast<double>(settings.Time("delay", 0)));
    }
    settings.Text("delay", "");
    settings.RejectUnread();
    group.usdPerGb = request.usdPerGb.value_or(group.usdPerGb);
    return WithTrace({std::move(group)}, ServerSite{}, request);
}

} // namespace legacy::fabric
