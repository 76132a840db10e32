#include "timely.h"

#include "controls.h"
#include "keys.h"

#include "base/error.h"

#include <algorithm>
#include <new>

namespace legacy::fabric
{

namespace
{

constexpr int kSegmentsOfHyper = 5; ///< N of the paper, and the factor n
/// The number of steps of increase up to the line rate: the paper's steps of 10 Mbit/s are for
/// lines of 10 Gbit/s.
constexpr double kStepsOfLine = 1000;

bool ReadSwitch(Settings& settings, const std::string& key)
{
    const std::string text = settings.Text(key, "");
    if (text != "on" && text != "off")
    {
        throw Error(settings.Location(key), text, "on, off");
    }
    return text == "on";
}

std::unique_ptr<const RoceControl> MakeTimely(Settings& settings)
{
    return std::make_unique<Timely>(Timely::Read(settings));
}

} // namespace

Timely::Timely(const TimelyParameters& parameters) : m_parameters(parameters)
{
    m_traits.everyFrame = true;
    m_traits.restarts = true;
    m_traits.burstBytes = parameters.bursts ? parameters.segment : 0;
}

TimelyParameters Timely::Read(Settings& settings)
{
    constexpr int64_t kLeastSegment = 16'000;
    constexpr int64_t kMostSegment = 65'536;
    constexpr double kDecrease = 0.8;
    constexpr double kPatchedDecrease = 0.008;
    constexpr double kWeight = 0.02;
    constexpr double kPatchedWeight = 0.875;
    TimelyParameters p;
    p.patched = ReadSwitch(settings, "patched");
    p.delta = settings.Has("delta") ? static_cast<double>(settings.Rate("delta", 0)) : 0;
    p.decrease = settings.Real("b", p.patched ? kPatchedDecrease : kDecrease, 0, 1);
    p.weight = settings.Real("a", p.patched ? kPatchedWeight : kWeight, 0, 1);
    p.low = static_cast<double>(RoceTime(settings, "low", 0, 1));
    p.high = static_cast<double>(RoceTime(settings, "high", 0, 1));
    p.least = static_cast<double>(RoceTime(settings, "tmin", 0, 1));
    p.leastRate = settings.Has("least") ? static_cast<double>(settings.Rate("least", 0)) : 0;
    p.deepest = settings.Real("deepest", 0, 0, 1);
    p.segment = settings.Bytes("segment", 0);
    if (p.segment < kLeastSegment || p.segment > kMostSegment)
    {
        throw Error(settings.Location("segment"), settings.Text("segment", ""), "16KB to 64KiB");
    }
    if (p.high < p.low)
    {
        throw Error(settings.Location("high"), settings.Text("high", ""), "a time from `low` on");
    }
    const std::string pacing = settings.Text("pacing", "");
    if (pacing != "segment" && pacing != "frame")
    {
        throw Error(settings.Location("pacing"), pacing, "segment, frame");
    }
    p.bursts = pacing == "segment";
    return p;
}

const RoceTraits& Timely::Traits() const
{
    return m_traits;
}

size_t Timely::StateBytes(int) const
{
    return sizeof(TimelyState);
}

RoceState* Timely::Begin(void* memory, const RocePath& path, Picoseconds now) const
{
    auto* state = new (memory) TimelyState;
    state->updated = now;
    state->line = path.lineRate;
    state->rate = path.lineRate;
    const double step = path.lineRate / kStepsOfLine;
    state->delta = m_parameters.delta > 0 ? m_parameters.delta : step;
    state->least = m_parameters.leastRate > 0 ? m_parameters.leastRate : step;
    return state;
}

void Timely::OnAck(RoceState& state, const RoceAck& ack) const
{
    auto& s = static_cast<TimelyState&>(state);
    s.completed += ack.payload;
    if (s.completed < m_parameters.segment && !(ack.endsMessage && s.completed > 0))
    {
        return;
    }
    s.completed = 0;
    const double own = RoceWireTime(ack.answeredBytes, s.line);
    const double roundTrip = static_cast<double>(ack.RoundTrip()) - own;
    const double last = s.last < 0 ? roundTrip : s.last;
    s.last = roundTrip;
    s.difference =
        (1 - m_parameters.weight) * s.difference + m_parameters.weight * (roundTrip - last);
    const double least = std::max(s.least, m_parameters.deepest * s.rate);
    const double share =
        std::min(static_cast<double>(ack.now - s.updated) / m_parameters.least, 1.0);
    s.updated = ack.now;
    const double change = (NewRate(s, roundTrip) - s.rate) * share;
    s.rate = std::min(std::max(s.rate + change, least), s.line);
}

double Timely::NewRate(TimelyState& state, double roundTrip) const
{
    const TimelyParameters& p = m_parameters;
    const double gradient = state.difference / p.least;
    const bool between = roundTrip >= p.low && roundTrip <= p.high;
    state.negative = between && gradient <= 0 ? state.negative + 1 : 0;
    if (roundTrip < p.low)
    {
        return state.rate + state.delta;
    }
    if (roundTrip > p.high)
    {
        return state.rate * (1 - p.decrease * (1 - p.high / roundTrip));
    }
    if (p.patched)
    {
        const double weight = std::min(std::max(2 * gradient + 0.5, 0.0), 1.0);
        const double error = (roundTrip - p.low) / p.low;
        return state.delta * (1 - weight) + state.rate * (1 - p.decrease * weight * error);
    }
    if (gradient <= 0)
    {
        return state.rate +
               (state.negative >= kSegmentsOfHyper ? kSegmentsOfHyper : 1) * state.delta;
    }
    return state.rate * (1 - p.decrease * gradient);
}

RoceControlRow TimelyRow()
{
    return {"timely",
            "rates follow the gradient of round trips",
            "Mittal et al., SIGCOMM'15; patched: Zhu et al., CoNEXT'16",
            {
                {"patched", "off", "on, off", "the form that has a fixed point", "CoNEXT'16"},
                {"delta",
                 "",
                 "a rate > 0",
                 "step of increase",
                 "paper, at 10 Gbit/s",
                 "line rate / 1000"},
                {"b",
                 "",
                 "0 to 1",
                 "factor of decrease",
                 "paper; patched: unverified",
                 "0.8; patched 0.008"},
                {"a",
                 "",
                 "0 to 1",
                 "weight of the newest difference",
                 "the authors' published code; patched: CoNEXT'16",
                 "0.02; patched 0.875"},
                {"low", "50us", "1 ns to 1000 s", "T_low, below which rates rise", "paper"},
                {"high", "500us", "`low` to 1000 s", "T_high, above which rates fall", "paper"},
                {"tmin", "20us", "1 ns to 1000 s", "T_min of the gradient", "CoNEXT'16"},
                {"segment",
                 "16KB",
                 "16KB to 64KiB",
                 "payload bytes of a segment, of which each gives a round trip",
                 "paper: 16 to 64 KB"},
                {"pacing",
                 "segment",
                 "segment, frame",
                 "what waits for its time: bursts of a segment, or each frame",
                 "paper"},
                {"deepest",
                 "0.5",
                 "0 to 1",
                 "least factor of a decrease; 0: none",
                 "the authors' published code"},
                {"least", "", "a rate > 0", "least rate", "ours", "line rate / 1000"},
            },
            MakeTimely};
}

} // namespace legacy::fabric
