// Rows of the table of roce's options. A row documents an option, reads it, and gives its value in
// fingerprints; most are made by a function of the kind of value that they have.
#pragma once

#include "roce-settings.h"

#include "base/settings.h"

#include <array>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A RoceValue is what a text says of an option, or the option's default. Its calls throw Error
/// naming the option, the value and what is allowed.
class RoceValue
{
  public:
    RoceValue(Settings& settings, const RoceOption& option);

    std::string Location() const;
    std::string Text();
    int Int(int least, int most);
    double Real(double least, double most);
    /// Returns 0 for the word that means it.
    int64_t Bytes(const std::string& zero, int64_t least);
    /// Returns 0 for the word that means it. Where there is one, a time is above 0.
    TimeNs Time(const std::string& zero);
    /// Returns the index of the name that is given.
    size_t Choice(const std::vector<std::string>& names);
    [[noreturn]] void Refuse(const std::string& allowed);

  private:
    Settings One();

    Settings& m_settings;
    const RoceOption& m_option;
};

/// Says what an option needs to mean something.
enum class RoceNeeds : uint8_t
{
    Nothing,
    Pfc,
    NoPfc,
};

/// A RoceRow is an option with what reads it, and its value as text.
struct RoceRow
{
    RoceOption option;
    std::function<void(RoceValue&, RoceSettings&)> read;
    std::function<std::string(const RoceSettings&)> value;
    RoceNeeds needs = RoceNeeds::Nothing;

    /// Returns the same row with a need.
    RoceRow Needing(RoceNeeds what) &&;
};

/// Returns a value as text, so that different ones differ.
template <typename T>
std::string ExactText(T value)
{
    std::ostringstream text;
    text.precision(17);
    text << value;
    return text.str();
}

/// Returns the value of a member as text.
template <typename T>
std::function<std::string(const RoceSettings&)> ValueOf(T RoceSettings::*member)
{
    return [member](const RoceSettings& settings) { return ExactText(settings.*member); };
}

// Rows by kind of value. Defaults are those of RoceSettings. `zero` is the word for 0, which is the
// default; of a time it may be "", where there is none. `names` are those of false and true.
RoceRow
IntegerRow(const char* name, int RoceSettings::*member, int least, int most, const char* help);
RoceRow RealRow(const char* name,
                double RoceSettings::*member,
                double least,
                double most,
                const char* help);
RoceRow BytesRow(const char* name,
                 int64_t RoceSettings::*member,
                 const std::string& zero,
                 const char* help);
RoceRow
TimeRow(const char* name, TimeNs RoceSettings::*member, const std::string& zero, const char* help);
RoceRow EitherRow(const char* name,
                  bool RoceSettings::*member,
                  const std::array<const char*, 2>& names,
                  const char* help);
RoceRow SwitchRow(const char* name, bool RoceSettings::*member, const char* help);

/// Returns the names with commas between them.
std::string Listed(const std::vector<std::string>& names);

} // namespace legacy::fabric
