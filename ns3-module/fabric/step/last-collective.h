// What is said of a collective holds for the next ones of a list, which differ in their members
// alone.
#pragma once

#include "fabric/collective/collective.h"

namespace legacy::fabric
{

/// Returns whether two collectives differ in nothing but who their members are.
bool DifferInMembersAlone(const CollectiveSpec& a, const CollectiveSpec& b);

/// A LastCollective remembers what was said of the last collective.
template <typename Value>
class LastCollective
{
  public:
    /// Returns what `say` says of a collective, whose members it does not read.
    template <typename Say>
    const Value& Of(const CollectiveSpec& spec, const Say& say)
    {
        if (m_spec.bytes.empty() || !DifferInMembersAlone(m_spec, spec))
        {
            m_value = say(spec);
            m_spec = spec;
        }
        return m_value;
    }

  private:
    CollectiveSpec m_spec;
    Value m_value{};
};

} // namespace legacy::fabric
