#include "hpcc.h"

#include "controls.h"

#include "base/error.h"

#include <algorithm>
#include <new>

namespace legacy::fabric
{

namespace
{

HpccRecord* RecordsOf(HpccState& state)
{
    return reinterpret_cast<HpccRecord*>(&state + 1);
}

/// Returns a - b for counters that wrap around at `modulus`.
int64_t Wrapped(int64_t a, int64_t b, int64_t modulus)
{
    const int64_t difference = a - b;
    return difference < 0 ? difference + modulus : difference;
}

std::unique_ptr<const RoceControl> MakeHpcc(Settings& settings)
{
    return std::make_unique<Hpcc>(Hpcc::Read(settings));
}

} // namespace

static_assert(alignof(HpccState) >= alignof(HpccRecord), "records lie after the state");

Hpcc::Hpcc(const HpccParameters& parameters) : m_parameters(parameters)
{
    m_traits.telemetry = true;
    m_traits.telemetryOnWire = parameters.asOnTheWire;
    m_traits.everyFrame = true;
    m_traits.restarts = true;
    m_traits.utilisation = parameters.eta;
}

HpccParameters Hpcc::Read(Settings& settings)
{
    constexpr double kLeastEta = 0.1;
    constexpr int kMostStages = 1'000'000;
    HpccParameters p;
    p.eta = settings.Real("eta", p.eta, kLeastEta, 1);
    p.stages = settings.Int("stages", p.stages, 0, kMostStages);
    if (settings.Has("wai") && settings.Has("ai"))
    {
        throw Error(settings.Location("ai"), settings.Text("ai", ""), "wai or ai, not both");
    }
    p.windowStep = static_cast<double>(settings.Bytes("wai", static_cast<int64_t>(p.windowStep)));
    p.rateStep = static_cast<double>(settings.Rate("ai", 0));
    const std::string precision = settings.Text("int", "");
    if (precision != "full" && precision != "wire")
    {
        throw Error(settings.Location("int"), precision, "full, wire");
    }
    p.asOnTheWire = precision == "wire";
    return p;
}

const RoceTraits& Hpcc::Traits() const
{
    return m_traits;
}

size_t Hpcc::StateBytes(int switches) const
{
    return sizeof(HpccState) + static_cast<size_t>(switches) * sizeof(HpccRecord);
}

RoceState* Hpcc::Begin(void* memory, const RocePath& path, Picoseconds) const
{
    auto* state = new (memory) HpccState;
    state->room = path.switches;
    for (int i = 0; i < path.switches; ++i)
    {
        new (RecordsOf(*state) + i) HpccRecord;
    }
    const double seconds = static_cast<double>(path.roundTrip) / kPicosecondsPerSecond;
    state->roundTrip = static_cast<double>(path.roundTrip);
    state->most = path.lineRate * seconds / 8;
    state->step =
        m_parameters.rateStep > 0 ? m_parameters.rateStep * seconds / 8 : m_parameters.windowStep;
    state->reference = state->most;
    state->window = state->most;
    state->rate = path.lineRate;
    return state;
}

/// Updates U and L' from the records of an ACK. Returns false if there was no L' of this path.
bool Hpcc::Measure(HpccState& state, const RoceAck& ack) const
{
    const bool compares = state.known == ack.switches && state.pathId == ack.pathId;
    double largest = -1;
    double gap = 0;
    for (int i = 0; i < ack.switches; ++i)
    {
        const IntRecord record = m_parameters.asOnTheWire
                                     ? DecodeIntRecord(EncodeIntRecord(ack.records[i]))
                                     : ack.records[i];
        HpccRecord& last = RecordsOf(state)[i];
        const Picoseconds time = m_parameters.asOnTheWire
                                     ? Wrapped(record.time, last.time, kIntTimeModulus)
                                     : record.time - last.time;
        const int64_t sent = m_parameters.asOnTheWire
                                 ? Wrapped(record.sentBytes, last.sentBytes, kIntSentModulus)
                                 : record.sentBytes - last.sentBytes;
        if (compares && time > 0)
        {
            const auto queued = static_cast<double>(std::min(record.queuedBytes, last.queuedBytes));
            const double perByte = 8 * kPicosecondsPerSecond / record.rate;
            const double u = queued * perByte / state.roundTrip +
                             static_cast<double>(sent) * perByte / static_cast<double>(time);
            if (u > largest)
            {
                largest = u;
                gap = static_cast<double>(time);
            }
        }
        last = {record.time, record.sentBytes, record.queuedBytes};
    }
    state.known = ack.switches;
    state.pathId = ack.pathId;
    if (largest >= 0)
    {
        const double share = std::min(gap, state.roundTrip) / state.roundTrip;
        state.utilisation = (1 - share) * state.utilisation + share * largest;
    }
    return compares;
}

void Hpcc::OnAck(RoceState& state, const RoceAck& ack) const
{
    auto& s = static_cast<HpccState&>(state);
    if (ack.switches == 0 || ack.switches > s.room)
    {
        return;
    }
    const bool updates = ack.acknowledged > s.lastUpdate;
    if (!Measure(s, ack))
    {
        s.lastUpdate = ack.next;
        return;
    }
    const bool divides = s.utilisation >= m_parameters.eta || s.stage >= m_parameters.stages;
    const double window =
        (divides ? s.reference / (s.utilisation / m_parameters.eta) : s.reference) + s.step;
    s.window = std::min(window, s.most);
    if (updates)
    {
        s.reference = s.window;
        s.stage = divides ? 0 : s.stage + 1;
        s.lastUpdate = ack.next;
    }
    s.rate = 8 * kPicosecondsPerSecond * s.window / s.roundTrip;
}

RoceControlRow HpccRow()
{
    return {"hpcc",
            "windows keep the bytes in flight of each link below what it holds in a round trip",
            "Li et al., SIGCOMM'19",
            {
                {"eta", "0.95", "0.1 to 1", "utilisation that is aimed at", "paper"},
                {"stages",
                 "5",
                 "0 to 1000000",
                 "maxStage: increases in a row before a measured one; HPCC's simulator 0",
                 "paper"},
                {"wai", "", "a size", "W_AI in bytes", "paper", "80B"},
                {"ai",
                 "",
                 "a rate > 0",
                 "W_AI as a rate: W_AI = ai T",
                 "HPCC's simulator: 10Mbps x line/25Gbps",
                 "not given"},
                {"int",
                 "full",
                 "full, wire",
                 "precision of telemetry; wire rounds and wraps around as its bits do",
                 "ours"},
            },
            MakeHpcc};
}

} // namespace legacy::fabric
