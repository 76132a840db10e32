#include "swift.h"

#include "controls.h"
#include "keys.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace legacy::fabric
{

namespace
{

constexpr double kBeyondBase = 10e6; ///< ps by which the base target exceeds T

std::unique_ptr<const RoceControl> MakeSwift(Settings& settings)
{
    return std::make_unique<Swift>(Swift::Read(settings));
}

} // namespace

Swift::Swift(const SwiftParameters& parameters) : m_parameters(parameters)
{
    m_traits.everyFrame = true;
    m_traits.restarts = true;
}

SwiftParameters Swift::Read(Settings& settings)
{
    constexpr double kMostFrames = 1e6;
    constexpr double kLeastFrames = 1e-4;
    constexpr int kMostTimeouts = 1000;
    SwiftParameters p;
    p.base = static_cast<double>(RoceTime(settings, "base", 0, settings.Has("base") ? 1 : 0));
    p.hop = static_cast<double>(RoceTime(settings, "hop", 0, 0));
    p.range = settings.Real("range", 0, 0, kMostFrames);
    p.leastScale = settings.Real("fs-min", 0, kLeastFrames, kMostFrames);
    p.mostScale = settings.Real("fs-max", 0, kLeastFrames, kMostFrames);
    p.additive = settings.Real("ai", 0, kLeastFrames, kMostFrames);
    p.decrease = settings.Real("b", 0, 0, 1);
    p.deepest = settings.Real("mdf", 0, 0, 1);
    p.least = settings.Real("least", 0, kLeastFrames, 1);
    p.timeouts = settings.Int("timeouts", 0, 1, kMostTimeouts);
    if (p.mostScale <= p.leastScale)
    {
        throw Error(settings.Location("fs-max"),
                    settings.Text("fs-max", ""),
                    "a number > fs-min, " + settings.Text("fs-min", ""));
    }
    return p;
}

const RoceTraits& Swift::Traits() const
{
    return m_traits;
}

size_t Swift::StateBytes(int) const
{
    return sizeof(SwiftState);
}

RoceState* Swift::Begin(void* memory, const RocePath& path, Picoseconds) const
{
    auto* state = new (memory) SwiftState;
    const auto roundTrip = static_cast<double>(path.roundTrip);
    const double base = m_parameters.base > 0 ? m_parameters.base : roundTrip + kBeyondBase;
    state->line = path.lineRate;
    state->frame = static_cast<double>(path.frameBytes);
    state->base = base + path.switches * m_parameters.hop;
    state->range = m_parameters.range * base;
    state->roundTrip = roundTrip;
    const double frameTime = RoceWireTime(path.frameBytes, path.lineRate);
    state->most = std::max((state->base + state->range) / frameTime, 1.0);
    SetWindow(*state, roundTrip / frameTime);
    return state;
}

double Swift::Target(const SwiftState& state, double frames) const
{
    const double most = 1 / std::sqrt(m_parameters.mostScale);
    const double slope = state.range / (1 / std::sqrt(m_parameters.leastScale) - most);
    const double scaled = slope / std::sqrt(frames) - slope * most;
    return state.base + std::min(std::max(scaled, 0.0), state.range);
}

bool Swift::MayCut(const SwiftState& state, Picoseconds now) const
{
    return !state.wasCut || static_cast<double>(now - state.lastCut) >= state.roundTrip;
}

void Swift::SetWindow(SwiftState& state, double frames) const
{
    state.windowFrames = std::min(std::max(frames, m_parameters.least), state.most);
    if (state.windowFrames >= 1)
    {
        state.window = state.windowFrames * state.frame;
        state.rate = state.line;
        return;
    }
    state.window = state.frame;
    const double perRoundTrip = 8 * kPicosecondsPerSecond * state.frame / state.roundTrip;
    state.rate = std::min(state.windowFrames * perRoundTrip, state.line);
}

void Swift::OnAck(RoceState& state, const RoceAck& ack) const
{
    auto& s = static_cast<SwiftState&>(state);
    const auto delay = static_cast<double>(ack.RoundTrip());
    s.roundTrip = static_cast<double>(ack.now - ack.sent);
    s.timeouts = 0;
    const double target = Target(s, s.windowFrames);
    double frames = s.windowFrames;
    if (delay < target)
    {
        const double step = m_parameters.additive * ack.frames;
        frames += frames >= 1 ? step / frames : step;
    }
    else if (MayCut(s, ack.now))
    {
        frames *= std::max(1 - m_parameters.decrease * (delay - target) / delay,
                           1 - m_parameters.deepest);
        s.lastCut = ack.now;
        s.wasCut = true;
    }
    SetWindow(s, frames);
}

void Swift::OnLoss(RoceState& state, const RoceLoss& loss) const
{
    auto& s = static_cast<SwiftState&>(state);
    s.timeouts = loss.timeout ? s.timeouts + 1 : 0;
    if (s.timeouts >= m_parameters.timeouts)
    {
        SetWindow(s, m_parameters.least);
    }
    else if (MayCut(s, loss.now))
    {
        s.lastCut = loss.now;
        s.wasCut = true;
        SetWindow(s, s.windowFrames * (1 - m_parameters.deepest));
    }
}

RoceControlRow SwiftRow()
{
    const std::string htsim = "htsim, marked there as a guess";
    return {"swift",
            "windows follow a target delay",
            "Kumar et al., SIGCOMM'20",
            {
                {"base", "", "1 ns to 1000 s", "base target delay", "ours", "T of the pair + 10us"},
                {"hop", "0s", "0 s to 1000 s", "target delay for each switch", "ours, as T has it"},
                {"range", "5", "0 to 1000000", "range of flow scaling, in base targets", htsim},
                {"fs-min", "0.1", "0.0001 to 1000000", "frames at which it is full", htsim},
                {"fs-max", "100", "> fs-min, to 1000000", "frames at which it is zero", htsim},
                {"ai", "1", "0.0001 to 1000000", "additive increase, frames a round trip", htsim},
                {"b", "0.8", "0 to 1", "factor of decrease", htsim},
                {"mdf", "0.5", "0 to 1", "deepest decrease in a round trip", htsim},
                {"least", "0.001", "0.0001 to 1", "least window, frames", "ours"},
                {"timeouts", "5", "1 to 1000", "time-outs in a row to the least window", htsim},
            },
            MakeSwift};
}

} // namespace legacy::fabric
