#include "dcqcn.h"

#include <algorithm>
#include <new>

namespace legacy::fabric
{

namespace
{

constexpr double kDeepestCut = 0.5; ///< rpg_min_dec_fac: the least share that a cut leaves
/// R_C approaches the line rate by halves; if it is nearer than this, it is there.
constexpr double kAtTheLine = 1e-13;

/// Returns x^n by squaring; the bits of the result do not depend on a library.
double PowerOf(double x, int64_t n)
{
    double power = 1;
    for (; n > 0; n /= 2, x *= x)
    {
        power *= n % 2 ? x : 1;
    }
    return power;
}

} // namespace

Dcqcn::Dcqcn(const DcqcnParameters& parameters) : m_parameters(parameters)
{
    m_traits.notifications = true;
    m_traits.cnpInterval = parameters.cnpInterval;
    m_traits.cnpWindows = parameters.cnpWindows;
}

const RoceTraits& Dcqcn::Traits() const
{
    return m_traits;
}

size_t Dcqcn::StateBytes(int) const
{
    return sizeof(DcqcnState);
}

RoceState* Dcqcn::Begin(void* memory, const RocePath& path, Picoseconds) const
{
    const DcqcnParameters& p = m_parameters;
    auto* state = new (memory) DcqcnState;
    state->line = path.lineRate;
    state->rate = path.lineRate;
    state->target = path.lineRate;
    state->additive = p.additive * (p.additiveScales ? path.lineRate / p.scaledFrom : 1);
    state->hyper = p.hyper * (p.hyperScales ? path.lineRate / p.scaledFrom : 1);
    state->increaseAt = kNoTimer;
    return state;
}

void Dcqcn::OnSent(RoceState& state, const RoceSent& sent) const
{
    auto& s = static_cast<DcqcnState&>(state);
    if (m_parameters.counterBytes == 0 || s.rate >= s.line)
    {
        return;
    }
    s.counted += sent.bytes;
    while (s.counted >= m_parameters.counterBytes && s.rate < s.line)
    {
        s.counted -= m_parameters.counterBytes;
        Increase(s);
        ++s.byteEvents;
    }
    SetTimer(s);
}

void Dcqcn::OnCnp(RoceState& state, Picoseconds now) const
{
    auto& s = static_cast<DcqcnState&>(state);
    if (s.firstCnp == kNoTimer)
    {
        s.firstCnp = now;
        s.alphaTime = now;
    }
    AdvanceAlpha(s, now);
    if (m_parameters.cutPeriod == 0)
    {
        Cut(s, now);
        s.alpha = (1 - m_parameters.gain) * s.alpha + m_parameters.gain;
        s.alphaTime = now;
    }
    else
    {
        s.cnpInPeriod = true;
        if (s.cutAt == kNoTimer)
        {
            const Picoseconds periods = (now - s.firstCnp) / m_parameters.cutPeriod;
            s.cutAt = s.firstCnp + (periods + 1) * m_parameters.cutPeriod;
        }
    }
    SetTimer(s);
}

void Dcqcn::OnTimer(RoceState& state, Picoseconds now) const
{
    auto& s = static_cast<DcqcnState&>(state);
    while (s.timer <= now)
    {
        if (s.cutAt <= s.increaseAt)
        {
            const Picoseconds at = s.cutAt;
            s.cutAt = kNoTimer;
            AdvanceAlpha(s, at);
            Cut(s, at);
        }
        else
        {
            s.increaseAt += m_parameters.timer;
            Increase(s);
            ++s.timeEvents;
        }
        SetTimer(s);
    }
}

double Dcqcn::Alpha(const DcqcnState& state, Picoseconds now) const
{
    DcqcnState copy = state;
    AdvanceAlpha(copy, now);
    return copy.alpha;
}

/// Applies the ends of alpha's periods up to `now`.
void Dcqcn::AdvanceAlpha(DcqcnState& state, Picoseconds now) const
{
    if (state.firstCnp == kNoTimer)
    {
        return;
    }
    const double keep = 1 - m_parameters.gain;
    Picoseconds periods = (now - state.alphaTime) / m_parameters.alphaPeriod;
    state.alphaTime += periods * m_parameters.alphaPeriod;
    if (periods > 0 && state.cnpInPeriod)
    {
        state.alpha = keep * state.alpha + m_parameters.gain;
        state.cnpInPeriod = false;
        --periods;
    }
    state.alpha *= PowerOf(keep, periods);
}

void Dcqcn::Cut(DcqcnState& state, Picoseconds now) const
{
    if (!m_parameters.targetAfterTime || state.timeEvents > 0)
    {
        state.target = state.rate;
    }
    const double left = std::max(1 - state.alpha * m_parameters.cutShare, kDeepestCut);
    // A line that is slower than the least rate keeps its own rate.
    state.rate = std::max(state.rate * left, std::min(m_parameters.leastRate, state.line));
    state.timeEvents = 0;
    state.byteEvents = 0;
    state.counted = 0;
    state.increaseAt = now + m_parameters.timer;
}

void Dcqcn::Increase(DcqcnState& state) const
{
    const int64_t byTime = state.timeEvents;
    const int64_t byBytes = m_parameters.counterBytes > 0 ? state.byteEvents : byTime;
    if (std::min(byTime, byBytes) > m_parameters.stages)
    {
        state.target += state.hyper;
    }
    else if (std::max(byTime, byBytes) >= m_parameters.stages)
    {
        state.target += state.additive;
    }
    state.target = std::min(state.target, state.line);
    state.rate = (state.target + state.rate) / 2;
    if (state.line - state.rate <= kAtTheLine * state.line)
    {
        state.rate = state.line;
    }
}

/// Sets the time of the next call; no increase is due at the line rate.
void Dcqcn::SetTimer(DcqcnState& state)
{
    if (state.rate >= state.line)
    {
        state.increaseAt = kNoTimer;
    }
    state.timer = std::min(state.cutAt, state.increaseAt);
}

} // namespace legacy::fabric
