// Lists of collectives often have equal ones among other members. What is computed of one of them,
// and does not depend on its members, is kept for the next.
#pragma once

#include "fabric/collective/collective.h"

namespace legacy::fabric
{

/// Returns whether two collectives differ in nothing but who their members are.
bool DifferInMembersAlone(const CollectiveSpec& a, const CollectiveSpec& b);

/// A LastCollective keeps the value that was computed of the last collective.
template <typename Value>
class LastCollective
{
  public:
    /// Returns what `compute` returns for a collective, whose members it does not read.
    template <typename Compute>
    const Value& Of(const CollectiveSpec& spec, const Compute& compute)
    {
        if (m_spec.bytes.empty() || !DifferInMembersAlone(m_spec, spec))
        {
            m_value = compute(spec);
            m_spec = spec;
        }
        return m_value;
    }

  private:
    CollectiveSpec m_spec;
    Value m_value{};
};

} // namespace legacy::fabric
