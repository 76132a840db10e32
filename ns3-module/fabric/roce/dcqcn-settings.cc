// The settings of DCQCN: sets of parameters, and the keys that change single ones.
#include "controls.h"
#include "dcqcn.h"
#include "keys.h"

#include "base/error.h"

#include <array>
#include <memory>
#include <string>

namespace legacy::fabric
{

namespace
{

constexpr Picoseconds kMicrosecond = 1'000'000;
constexpr int kGdOfAlphaOne = 10; ///< the value of gd at which a cut is by alpha itself
constexpr int kGdOfHalf = 11;

struct DcqcnSet
{
    const char* name;
    DcqcnParameters parameters;
};

/// The sets of parameters, in the order of DcqcnParameters.
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
    // NICs: the vendor's page on DCQCN parameters.
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
    // The values that the back ends of ASTRA-sim and SimAI ship with.
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
             "which cuts set R_T: all, or those after an increase by time",
             set,
             "always; others after-time"},
        },
        MakeDcqcn};
}

} // namespace legacy::fabric
