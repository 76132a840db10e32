#include "settings-rows.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

using S = RoceSettings;

RoceValue::RoceValue(Settings& settings, const RoceOption& option)
    : m_settings(settings),
      m_option(option)
{
}

std::string RoceValue::Location() const
{
    return m_settings.Location(m_option.name);
}

std::string RoceValue::Text()
{
    return m_settings.Text(m_option.name, m_option.fallback);
}

int RoceValue::Int(int least, int most)
{
    return One().Int(m_option.name, 0, least, most);
}

double RoceValue::Real(double least, double most)
{
    return One().Real(m_option.name, 0, least, most);
}

int64_t RoceValue::Bytes(const std::string& zero, int64_t least)
{
    const std::string text = Text();
    if (text == zero)
    {
        return 0;
    }
    const int64_t bytes = ParseBytes(text, Location());
    if (bytes < least)
    {
        Refuse(zero + ", or " + std::to_string(least) + " bytes or more");
    }
    return bytes;
}

TimeNs RoceValue::Time(const std::string& zero)
{
    const std::string text = Text();
    if (text == zero)
    {
        return 0;
    }
    const TimeNs time = ParseTime(text, Location());
    if (time == 0 && !zero.empty())
    {
        Refuse(zero + ", a time above 0");
    }
    return time;
}

size_t RoceValue::Choice(const std::vector<std::string>& names)
{
    const auto found = std::find(names.begin(), names.end(), Text());
    if (found == names.end())
    {
        Refuse(Listed(names));
    }
    return static_cast<size_t>(found - names.begin());
}

void RoceValue::Refuse(const std::string& allowed)
{
    throw Error(Location(), Text(), allowed);
}

Settings RoceValue::One()
{
    Settings one(m_settings.Where(), m_settings.Type());
    one.Set(m_option.name, Text());
    return one;
}

RoceRow RoceRow::Needing(RoceNeeds what) &&
{
    needs = what;
    return std::move(*this);
}

RoceRow IntegerRow(const char* name, int S::*member, int least, int most, const char* help)
{
    return {{name,
             std::to_string(S{}.*member),
             std::to_string(least) + " to " + std::to_string(most),
             help},
            [=](RoceValue& value, S& settings) { settings.*member = value.Int(least, most); },
            ValueOf(member)};
}

RoceRow RealRow(const char* name, double S::*member, double least, double most, const char* help)
{
    const auto text = [](double value)
    {
        std::ostringstream out;
        out << value;
        return out.str();
    };
    return {{name, text(S{}.*member), text(least) + " to " + text(most), help},
            [=](RoceValue& value, S& settings) { settings.*member = value.Real(least, most); },
            ValueOf(member)};
}

RoceRow BytesRow(const char* name, int64_t S::*member, const std::string& zero, const char* help)
{
    return {{name, zero, zero + ", bytes", help},
            [=](RoceValue& value, S& settings) { settings.*member = value.Bytes(zero, 1); },
            ValueOf(member)};
}

RoceRow TimeRow(const char* name, TimeNs S::*member, const std::string& zero, const char* help)
{
    const bool word = !zero.empty();
    return {{name, word ? zero : "0us", word ? zero + ", a time" : "a time", help},
            [=](RoceValue& value, S& settings) { settings.*member = value.Time(zero); },
            ValueOf(member)};
}

RoceRow EitherRow(const char* name,
                  bool S::*member,
                  const std::array<const char*, 2>& names,
                  const char* help)
{
    const std::vector<std::string> choices(names.begin(), names.end());
    return {{name, names[S{}.*member ? 1 : 0], Listed(choices), help},
            [=](RoceValue& value, S& settings) { settings.*member = value.Choice(choices) == 1; },
            ValueOf(member)};
}

RoceRow SwitchRow(const char* name, bool S::*member, const char* help)
{
    RoceRow row = EitherRow(name, member, {"off", "on"}, help);
    row.option.allowed = "on, off";
    row.read = [=](RoceValue& value, S& settings) {
        settings.*member = value.Choice({"on", "off"}) == 0;
    };
    return row;
}

std::string Listed(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names)
    {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

} // namespace legacy::fabric
