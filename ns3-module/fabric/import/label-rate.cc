#include "label-rate.h"

#include "base/units.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace legacy::fabric
{

namespace
{

constexpr double kMostTimes = 10'000; ///< largest number of lines in one label

/// A LabelReader reads a label from left to right.
class LabelReader
{
  public:
    explicit LabelReader(std::string_view text) : m_text(text)
    {
    }

    int64_t Largest()
    {
        double largest = 0;
        while (m_at < m_text.size())
        {
            const size_t start = m_at;
            const bool inWord = start > 0 && (IsLetter(start - 1) || IsDigit(start - 1));
            if (const auto rate = inWord ? std::nullopt : Rate())
            {
                largest = *rate > kMostRate ? largest : std::max(largest, *rate);
            }
            m_at = std::max(m_at, start + 1);
        }
        return std::llround(largest);
    }

  private:
    bool IsDigit(size_t at) const
    {
        return at < m_text.size() && std::isdigit(static_cast<unsigned char>(m_text[at])) != 0;
    }

    bool IsLetter(size_t at) const
    {
        return at < m_text.size() && std::isalpha(static_cast<unsigned char>(m_text[at])) != 0;
    }

    void SkipBlanks()
    {
        while (m_at < m_text.size() && m_text[m_at] == ' ')
        {
            ++m_at;
        }
    }

    /// Moves past `word`, in upper or lower case. Returns false if the text does not continue with
    /// it.
    bool Take(std::string_view word)
    {
        if (m_text.size() - m_at < word.size())
        {
            return false;
        }
        for (size_t i = 0; i < word.size(); ++i)
        {
            if (std::tolower(static_cast<unsigned char>(m_text[m_at + i])) != word[i])
            {
                return false;
            }
        }
        m_at += word.size();
        return true;
    }

    std::optional<double> Number()
    {
        double value = 0;
        if (!IsDigit(m_at))
        {
            return std::nullopt;
        }
        const char* end = m_text.data() + m_text.size();
        const auto [rest, error] =
            std::from_chars(m_text.data() + m_at, end, value, std::chars_format::fixed);
        if (error != std::errc())
        {
            return std::nullopt;
        }
        m_at = static_cast<size_t>(rest - m_text.data());
        return value;
    }

    /// Moves past "x", "*" and blanks around them, which separate a number of lines from what
    /// precedes or follows it.
    bool TakeTimes()
    {
        const size_t start = m_at;
        SkipBlanks();
        if (Take("x") || Take("*"))
        {
            SkipBlanks();
            return true;
        }
        m_at = start;
        return false;
    }

    /// Returns the unit in bit/s, or nothing.
    std::optional<double> Unit()
    {
        struct Prefix
        {
            const char* text;
            double scale;
        };
        static constexpr Prefix kPrefixes[] = {{"kilo", 1e3},
                                               {"mega", 1e6},
                                               {"giga", 1e9},
                                               {"tera", 1e12},
                                               {"kibi", 0x1p10},
                                               {"mebi", 0x1p20},
                                               {"gibi", 0x1p30},
                                               {"ki", 0x1p10},
                                               {"mi", 0x1p20},
                                               {"gi", 0x1p30},
                                               {"k", 1e3},
                                               {"m", 1e6},
                                               {"g", 1e9},
                                               {"t", 1e12},
                                               {"", 1}};
        const size_t start = m_at;
        SkipBlanks();
        const size_t unit = m_at;
        for (const Prefix& prefix : kPrefixes)
        {
            m_at = unit;
            if (!Take(prefix.text) || (!Take("bit") && !Take("b")))
            {
                continue;
            }
            const bool perSecond = Take("ps") || Take("/s") || Take("s");
            if (!IsLetter(m_at) && (perSecond || prefix.scale != 1))
            {
                return prefix.scale;
            }
        }
        m_at = start;
        return std::nullopt;
    }

    /// Returns a rate that has a name of its own, such as OC-3, or nothing.
    std::optional<double> Named()
    {
        struct Name
        {
            const char* text;
            bool counted;
            double mbps;
        };
        static constexpr Name kNames[] = {{"oc", true, 51.84},
                                          {"stm", true, 155.52},
                                          {"ds-3", false, 44.736},
                                          {"ds3", false, 44.736},
                                          {"e1", false, 2.048},
                                          {"e3", false, 34.368},
                                          {"t1", false, 1.544},
                                          {"t3", false, 44.736}};
        const size_t start = m_at;
        for (const Name& name : kNames)
        {
            m_at = start;
            if (!Take(name.text))
            {
                continue;
            }
            double count = 1;
            if (name.counted)
            {
                Take("-") || Take(" ");
                const auto number = Number();
                if (!number || *number < 1 || *number != std::floor(*number))
                {
                    continue;
                }
                count = *number;
                Take("c"); // concatenated
            }
            const size_t end = m_at;
            if (TakeTimes())
            {
                const auto times = Number();
                count *= times.value_or(1);
                m_at = times ? m_at : end;
            }
            if (!IsLetter(m_at) && !IsDigit(m_at))
            {
                return count * name.mbps * 1e6;
            }
        }
        m_at = start;
        return std::nullopt;
    }

    /// Returns the rate of a single line that begins here, or nothing.
    std::optional<double> Single()
    {
        if (const auto named = Named())
        {
            return named;
        }
        const size_t start = m_at;
        if (const auto number = Number())
        {
            if (const auto unit = Unit())
            {
                return *number * *unit;
            }
        }
        m_at = start;
        return std::nullopt;
    }

    /// Returns the rate of one or several lines that begins here, or nothing.
    std::optional<double> Rate()
    {
        if (const auto single = Single())
        {
            return single;
        }
        const auto number = Number();
        const size_t end = m_at;
        if (number && *number >= 1 && *number <= kMostTimes && TakeTimes())
        {
            if (const auto each = Single())
            {
                return *number * *each;
            }
        }
        m_at = end;
        return std::nullopt;
    }

    std::string_view m_text;
    size_t m_at = 0;
};

} // namespace

int64_t RateOfLabel(std::string_view label)
{
    return LabelReader(label).Largest();
}

} // namespace legacy::fabric
