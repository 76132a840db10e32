#include "keys.h"

#include "base/error.h"

namespace legacy::fabric
{

Picoseconds RoceTime(Settings& settings, const std::string& key, TimeNs fallback, TimeNs least)
{
    const TimeNs time = settings.Time(key, fallback);
    if (time < least || time > kLongestRoceTime)
    {
        throw Error(settings.Location(key),
                    FormatTime(time),
                    FormatTime(least) + " to " + FormatTime(kLongestRoceTime));
    }
    return time * kPicosecondsPerNs;
}

} // namespace legacy::fabric
