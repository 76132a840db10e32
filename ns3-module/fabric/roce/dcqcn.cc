#include "dcqcn.h"

#include "controls.h"
#include "keys.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>

namespace legacy::fabric
{

namespace
{

constexpr Picoseconds kMicrosecond = 1'000'000;
constexpr int kGdOfAlphaOne = 10; ///< gd at which a cut is by alpha itself
constexpr int kGdOfHalf = 11;
constexpr double kDeepestCut = 0.5; ///< rpg_min_dec_fac: what a cut leaves at least
/// R_C comes to the line by halves; nearer than this it is there.
constexpr double kAtTheLine = 1e-13;

struct DcqcnSet
{
    const char* name;
    DcqcnParameters parameters;
};

/// Sets of parameters, in the order of DcqcnParameters.
constexpr std::array<DcqcnSet, 4> kDcqcnSets = {{
    // Zhu et al., SIGCOMM'15; R_HAI, the least rate and the scaling are ours.
    {"paper",
     {1.0 / 256,
      55 * kMicrosecond,
      50 * kMicrosecond,
      false,
      0,
      55 * kMicrosecond,
      10'000'000,
      5,
      40e6,
      200e6,
      40e9,
      true,
      true,
      10e6,
      0.5,
      false}},
    // NICs: vendor's page of DCQCN parameters.
    {"mellanox",
     {5.0 / 1024,
      1 * kMicrosecond,
      4 * kMicrosecond,
      false,
      4 * kMicrosecond,
      300 * kMicrosecond,
      int64_t{32767} * 64,
      1,
      5e6,
      50e6,
      0,
      false,
      false,
      1e6,
      0.5,
      true}},
    // HPCC's simulator.
    {"hpcc",
     {1.0 / 256,
      1 * kMicrosecond,
      0,
      false,
      4 * kMicrosecond,
      300 * kMicrosecond,
      0,
      1,
      5e6,
      50e6,
      25e9,
      true,
      true,
      1e9,
      0.5,
      true}},
    // What ASTRA-sim's and SimAI's back ends ship.
    {"astra-sim",
     {1.0 / 256,
      1 * kMicrosecond,
      0,
      false,
      4 * kMicrosecond,
      900 * kMicrosecond,
      0,
      1,
      50e6,
      100e6,
      0,
      false,
      false,
      100e6,
      0.5,
      true}},
}};

/// Returns x^n by squaring, whose bits do not depend on a library.
double PowerOf(double x, int64_t n)
{
    double power = 1;
    for (; n > 0; n /= 2, x *= x)
    {
        power *= n % 2 ? x : 1;
    }
    return power;
}

DcqcnParameters ReadSet(Settings& settings)
{
    const std::string name = settings.Text("parameters", "paper");
    std::string allowed;
    for (const DcqcnSet& set : kDcqcnSets)
    {
        if (name == set.name)
        {
            return set.parameters;
        }
        allowed += (allowed.empty() ? "" : ", ") + std::string(set.name);
    }
    throw Error(settings.Location("parameters"), name, allowed);
}

int64_t ReadCounter(Settings& settings, int64_t fallback)
{
    if (settings.Text("bytes", "") == "off")
    {
        return 0;
    }
    const int64_t bytes = settings.Bytes("bytes", fallback);
    if (settings.Has("bytes") && bytes == 0)
    {
        throw Error(settings.Location("bytes"), "0", "a size > 0, or off");
    }
    return bytes;
}

/// Returns true for the first of two words, false for the other.
bool ReadWord(Settings& settings,
              const std::string& key,
              bool fallback,
              const std::string& yes,
              const std::string& no)
{
    const std::string text = settings.Text(key, fallback ? yes : no);
    if (text != yes && text != no)
    {
        throw Error(settings.Location(key), text, no + ", " + yes);
    }
    return text == yes;
}

std::unique_ptr<const RoceControl> MakeDcqcn(Settings& settings)
{
    return std::make_unique<Dcqcn>(Dcqcn::Read(settings));
}

TimeNs Nanoseconds(Picoseconds time)
{
    return time / kPicosecondsPerNs;
}

} // namespace

Dcqcn::Dcqcn(const DcqcnParameters& parameters) : m_parameters(parameters)
{
    m_traits.notifications = true;
    m_traits.cnpInterval = parameters.cnpInterval;
    m_traits.cnpWindows = parameters.cnpWindows;
}

DcqcnParameters Dcqcn::Read(Settings& settings)
{
    DcqcnParameters p = ReadSet(settings);
    constexpr double kLeastGain = 1e-9;
    constexpr int kMostStages = 1000;
    constexpr int kMostGd = 15;
    p.gain = settings.Real("g", p.gain, kLeastGain, 1);
    p.alphaPeriod = RoceTime(settings, "alpha-period", Nanoseconds(p.alphaPeriod), 1);
    p.cnpInterval = RoceTime(settings, "cnp", Nanoseconds(p.cnpInterval), 0);
    p.cutPeriod = RoceTime(settings, "cut-period", Nanoseconds(p.cutPeriod), 0);
    p.timer = RoceTime(settings, "timer", Nanoseconds(p.timer), 1);
    p.counterBytes = ReadCounter(settings, p.counterBytes);
    p.stages = settings.Int("f", p.stages, 0, kMostStages);
    p.additiveScales = p.additiveScales && !settings.Has("ai");
    p.hyperScales = p.hyperScales && !settings.Has("hai");
    p.additive = static_cast<double>(settings.Rate("ai", static_cast<int64_t>(p.additive)));
    p.hyper = static_cast<double>(settings.Rate("hai", static_cast<int64_t>(p.hyper)));
    p.leastRate = static_cast<double>(settings.Rate("least", static_cast<int64_t>(p.leastRate)));
    const int gd = settings.Int("gd", kGdOfHalf, kGdOfAlphaOne, kMostGd);
    p.cutShare = 1.0 / (1 << (gd - kGdOfAlphaOne));
    p.targetAfterTime = ReadWord(settings, "target", p.targetAfterTime, "after-time", "always");
    p.cnpWindows = ReadWord(settings, "np", p.cnpWindows, "window", "gap");
    return p;
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
    // A line that is slower than the least rate stays at itself.
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

/// Sets the time of the next call; at the line no increase is due.
void Dcqcn::SetTimer(DcqcnState& state)
{
    if (state.rate >= state.line)
    {
        state.increaseAt = kNoTimer;
    }
    state.timer = std::min(state.cutAt, state.increaseAt);
}

RoceControlRow DcqcnRow()
{
    const std::string set = "of `parameters`";
    return {
        "dcqcn",
        "rates fall by CNPs of marked frames and rise by time and bytes",
        "Zhu et al., SIGCOMM'15",
        {
            {"parameters",
             "paper",
             "paper, mellanox, hpcc, astra-sim",
             "set of parameters: the paper's, NICs', HPCC's simulator's, shipped in ASTRA-sim",
             "paper"},
            {"g", "", "1e-9 to 1", "gain of alpha", set, "0.00390625; mellanox 0.0048828125"},
            {"alpha-period", "", "1 ns to 1000 s", "K of alpha's decay", set, "55us; others 1us"},
            {"cnp",
             "",
             "0 s to 1000 s",
             "N between CNPs of a queue pair; 0s: one for each marked frame",
             set,
             "50us; mellanox 4us; hpcc, astra-sim 0s"},
            {"np",
             "",
             "gap, window",
             "marks within N of a CNP are forgotten, or answered when N is over",
             "CoNEXT'16, section 2",
             "gap"},
            {"cut-period",
             "",
             "0 s to 1000 s",
             "period at whose end a rate is cut; 0s: at each CNP",
             set,
             "0s; others 4us"},
            {"timer",
             "",
             "1 ns to 1000 s",
             "T between increases by time",
             set,
             "55us; mellanox, hpcc 300us; astra-sim 900us"},
            {"bytes",
             "",
             "a size > 0, off",
             "B between increases by bytes on the wire",
             set,
             "10MB; mellanox 2097088B; hpcc, astra-sim off"},
            {"f", "", "0 to 1000", "F events of fast recovery", set, "5; others 1"},
            {"ai",
             "",
             "a rate > 0",
             "R_AI of additive increase",
             set,
             "40Mbps x line/40Gbps; mellanox 5Mbps; hpcc 5Mbps x line/25Gbps; astra-sim 50Mbps"},
            {"hai",
             "",
             "a rate > 0",
             "R_HAI of hyper increase",
             set + ", paper: ours",
             "200Mbps x line/40Gbps; mellanox 50Mbps; hpcc 50Mbps x line/25Gbps; astra-sim "
             "100Mbps"},
            {"least",
             "",
             "a rate > 0",
             "least rate",
             set + ", paper: ours",
             "10Mbps; mellanox 1Mbps; hpcc 1Gbps; astra-sim 100Mbps"},
            {"gd", "11", "10 to 15", "a cut is by alpha/2^(gd-10)", "vendor's page"},
            {"target",
             "",
             "always, after-time",
             "which cuts set R_T: all, or those behind an increase by time",
             set,
             "always; others after-time"},
        },
        MakeDcqcn};
}

} // namespace legacy::fabric
