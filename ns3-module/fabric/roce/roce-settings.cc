#include "roce-settings.h"

#include "base/parse.h"
#include "controls.h"
#include "settings-rows.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/settings.h"

#include <algorithm>
#include <sstream>

namespace legacy::fabric
{

namespace
{

using S = RoceSettings;

/// Reads "host=3+from=1ms+for=2ms".
RoceStorm ParseStorm(const std::string& text, const std::string& where)
{
    Settings settings(where, "storm");
    for (const std::string& item : Split(text, '+'))
    {
        const size_t equals = item.find('=');
        if (equals == std::string::npos)
        {
            throw Error(where, text, "off, or host=HOST+from=TIME+for=TIME");
        }
        settings.Set(item.substr(0, equals), item.substr(equals + 1));
    }
    RoceStorm storm;
    storm.host = settings.Text("host", storm.host);
    storm.from = settings.Time("from", 0);
    storm.length = settings.Time("for", 0);
    settings.RejectUnread();
    if (storm.length == 0)
    {
        throw Error(where, text, "for=TIME above 0");
    }
    return storm;
}

void ReadControl(RoceValue& value, S& settings)
{
    settings.control = CanonicalRoceControl(value.Text(), value.Location());
    MakeRoceControl(settings.control, value.Location()); // throws on invalid values, with location
}

void ReadRecovery(RoceValue& value, S& settings)
{
    constexpr size_t kSelective = 2;
    const size_t choice = value.Choice({"auto", "go-back-n", "selective"});
    const bool selective = choice == kSelective || (choice == 0 && !settings.pfc);
    settings.recovery = selective ? RoceRecovery::Selective : RoceRecovery::GoBackN;
}

void ReadReorder(RoceValue& value, S& settings)
{
    if (value.Text() == "auto")
    {
        return;
    }
    settings.reorder = value.Int(1, 1 << 20);
    if (settings.recovery == RoceRecovery::GoBackN)
    {
        value.Refuse("nothing with recovery=go-back-n");
    }
}

void ReadPriority(RoceValue& value, S& settings)
{
    settings.priority = value.Int(0, 7);
    if (settings.acksFirst && settings.priority == S::kControlPriority)
    {
        value.Refuse("0 to 7 without 6, the class of ACKs and CNPs (ack-priority=off frees it)");
    }
}

void ReadWindow(RoceValue& value, S& settings)
{
    const std::string text = value.Text();
    const bool selective = settings.recovery == RoceRecovery::Selective;
    settings.windowIsBdp = text == "bdp" || (text == "auto" && selective);
    if (text == "off" && selective)
    {
        value.Refuse("auto, bdp, bytes with recovery=selective, which has bits for frames of a "
                     "window");
    }
    if (!settings.windowIsBdp && text != "auto")
    {
        settings.windowBytes = value.Bytes("off", settings.mtu + settings.headerBytes);
    }
}

/// The value depends on the control and the window, which are read before it.
void ReadAck(RoceValue& value, S& settings)
{
    const bool everyFrame = MakeRoceControl(settings.control, "cc")->Traits().everyFrame;
    if (value.Text() == "auto")
    {
        const bool each = everyFrame || settings.windowIsBdp || settings.windowBytes > 0;
        settings.framesPerAck = each ? 1 : settings.framesPerAck;
        return;
    }
    settings.framesPerAck = value.Int(1, 1 << 16);
    if (everyFrame && settings.framesPerAck > 1)
    {
        value.Refuse("1: " + settings.control + " reads each frame's ACK");
    }
}

/// The value adds to sizes that are read before it.
void ReadVlan(RoceValue& value, S& settings)
{
    settings.vlan = value.Choice({"on", "off"}) == 0;
    if (settings.vlan)
    {
        settings.headerBytes += S::kTagBytes;
        settings.ackBytes += S::kTagBytes;
        settings.cnpBytes += S::kTagBytes;
    }
}

void ReadEcn(RoceValue& value, S& settings)
{
    settings.ecnText = value.Text();
    settings.ecn = EcnProfile::FromText(settings.ecnText, value.Location());
    if (!settings.ecn && MakeRoceControl(settings.control, "cc")->Traits().notifications)
    {
        value.Refuse("marks: " + settings.control + " reacts to them alone");
    }
}

void ReadStorm(RoceValue& value, S& settings)
{
    if (value.Text() != "off")
    {
        settings.storm = ParseStorm(value.Text(), value.Location());
    }
}

std::string StormValue(const S& settings)
{
    return settings.storm ? settings.storm->host + "+" + ExactText(settings.storm->from) + "+" +
                                ExactText(settings.storm->length)
                          : "off";
}

/// The value depends on the control, pauses, recovery and ACKs, which are read before it.
void ReadTrain(RoceValue& value, S& settings)
{
    settings.train = value.Int(1, S::kLongestTrain);
    if (settings.train == 1)
    {
        return;
    }
    if (!settings.pfc)
    {
        value.Refuse("1 with pfc=off, where switches drop single frames");
    }
    if (settings.recovery == RoceRecovery::Selective)
    {
        value.Refuse("1 with recovery=selective, whose ACKs tell of single frames");
    }
    if (settings.train > settings.framesPerAck)
    {
        const std::string ack = std::to_string(settings.framesPerAck);
        value.Refuse(MakeRoceControl(settings.control, "cc")->Traits().everyFrame
                         ? "1: " + settings.control + " reads each frame's ACK"
                         : "1 to " + ack + ", the frames of an ACK (ack=" + ack + ")");
    }
}

void ReadIdle(RoceValue& value, S& settings)
{
    settings.idle = static_cast<RoceIdle>(value.Choice({"reset", "keep", "message"}));
}

/// Returns all options in the order of the documentation, in which their readers are also called.
std::vector<RoceRow> MakeRows()
{
    return {
        {{"cc", "dcqcn", "a congestion control", "congestion control, NAME:key=value+key=value"},
         ReadControl,
         ValueOf(&S::control)},
        SwitchRow("pfc", &S::pfc, "lossless class of data; off: switches drop at their thresholds"),
        {{"recovery",
          "auto",
          "auto, go-back-n, selective",
          "which frames are sent again after a loss; auto: go-back-n, and selective with pfc=off"},
         ReadRecovery,
         [](const S& s) { return ExactText(static_cast<int>(s.recovery)); }},
        {{"reorder",
          "auto",
          "auto, 1 to 1048576",
          "with spray, frames later than a lost one until it counts as lost; auto: a window"},
         ReadReorder,
         ValueOf(&S::reorder)},
        IntegerRow("qps",
                   &S::qps,
                   1,
                   1024,
                   "queue pairs of each pair, each on its own path of ECMP; messages in turn"),
        IntegerRow("mtu", &S::mtu, 64, 9000, "payload bytes of a frame; InfiniBand's: 256 to 4096"),
        IntegerRow("header",
                   &S::headerBytes,
                   S::kGapBytes,
                   1000,
                   "bytes of a frame besides its payload, preamble and gap among them"),
        IntegerRow("message-header",
                   &S::messageBytes,
                   0,
                   1000,
                   "further bytes of a message's first frame"),
        IntegerRow("ack-bytes", &S::ackBytes, 20, 1000, "bytes of an ACK, for comparisons"),
        {{"vlan", "off", "on, off", "a VLAN tag of 4 bytes in each frame"},
         ReadVlan,
         ValueOf(&S::cnpBytes)},
        {{"window",
          "auto",
          "auto, off, bdp, bytes",
          "most bytes in flight; bdp: bandwidth-delay product; auto: off, bdp with selective"},
         ReadWindow,
         [](const S& s) { return s.windowIsBdp ? "bdp" : ExactText(s.windowBytes); }},
        {{"ack", "auto", "auto, 1 to 65536", "frames for each ACK; auto: 16, and 1 with a window"},
         ReadAck,
         ValueOf(&S::framesPerAck)},
        SwitchRow("ack-priority",
                  &S::acksFirst,
                  "ACKs and CNPs go first, in a class that is never paused"),
        {{"priority",
          "3",
          "0 to 7",
          "class of data in PFC frames; ACKs and CNPs have 6, which is never paused"},
         ReadPriority,
         ValueOf(&S::priority)},
        BytesRow(
            "buffer", &S::bufferBytes, "auto", "buffer of each switch; auto: 5 KB for each Gbit/s"),
        RealRow("alpha", &S::alpha, 0.001, 64, "of dynamic thresholds"),
        SwitchRow("alpha-by-rate",
                  &S::alphaByRate,
                  "alpha doubles with each doubling of the hosts' rate"),
        RealRow("egress-alpha",
                &S::egressAlpha,
                0.001,
                64,
                "of dynamic thresholds of queues with pfc=off")
            .Needing(RoceNeeds::NoPfc),
        BytesRow("headroom",
                 &S::headroomBytes,
                 "auto",
                 "of each port; auto: what its rate and delay need")
            .Needing(RoceNeeds::Pfc),
        BytesRow(
            "xon", &S::xonBytes, "auto", "how far below xoff a pause ends; auto: two full frames")
            .Needing(RoceNeeds::Pfc),
        IntegerRow(
            "quanta", &S::quanta, 1, 65535, "length of a pause in 512 bit times; renewed at half")
            .Needing(RoceNeeds::Pfc),
        TimeRow("pfc-response",
                &S::response,
                "",
                "time that a pause takes to act, which headroom allows")
            .Needing(RoceNeeds::Pfc),
        EitherRow("pfc-drops",
                  &S::dropsAllowed,
                  {"end", "allow"},
                  "what a lost lossless frame does to the run")
            .Needing(RoceNeeds::Pfc),
        {{"ecn",
          EcnProfile::kDefault,
          "off, KMIN/KMAX/PMAX@RATE",
          "marks, in proportion to the port's rate; several rates with +"},
         ReadEcn,
         ValueOf(&S::ecnText)},
        EitherRow("marking",
                  &S::marksAtRandom,
                  {"hash", "random"},
                  "hash of seed, port and count, or drawn again for each step"),
        EitherRow("mark-at",
                  &S::markAtEnqueue,
                  {"dequeue", "enqueue"},
                  "by the queue behind a leaving frame, or with an arriving one"),
        EitherRow("base-rtt",
                  &S::roundTripOfFabric,
                  {"pair", "fabric"},
                  "round trip of windows and rates: the pair's, or the fabric's largest"),
        TimeRow("rto", &S::rto, "auto", "time-out, doubled in a row; auto: see below"),
        IntegerRow("retries", &S::retries, 1, 1000, "time-outs in a row that end the run"),
        TimeRow("switch-delay", &S::switchDelay, "", "of a frame in each switch"),
        TimeRow("watchdog",
                &S::watchdog,
                "off",
                "a switch's port that is paused so long drops its frames")
            .Needing(RoceNeeds::Pfc),
        {{"storm",
          "off",
          "off, host=HOST+from=TIME+for=TIME",
          "a faulty NIC, that pauses its switch all the time; HOST is a name or a number, as in "
          "`--flows`"},
         ReadStorm,
         StormValue},
        {{"train",
          "1",
          "1 to " + std::to_string(S::kLongestTrain),
          "most frames that a queue pair which alone is ready sends as one, for speed"},
         ReadTrain,
         ValueOf(&S::train)},
        {{"idle",
          "reset",
          "reset, keep, message",
          "rates and windows begin again after an idle time, never, or with each message"},
         ReadIdle,
         [](const S& s) { return ExactText(static_cast<int>(s.idle)); }},
    };
}

const std::vector<RoceRow>& Rows()
{
    static const std::vector<RoceRow> rows = MakeRows();
    return rows;
}

/// Throws Error if a key is not an option of roce.
void RejectUnknown(const std::string& key, const std::string& where)
{
    std::vector<std::string> known;
    for (const RoceRow& row : Rows())
    {
        known.push_back(row.option.name);
    }
    if (std::find(known.begin(), known.end(), key) != known.end())
    {
        return;
    }
    throw NotAmong(where + ": unknown key of roce", key, known);
}

} // namespace

const std::vector<RoceOption>& RoceOptions()
{
    static const std::vector<RoceOption> options = []
    {
        std::vector<RoceOption> all;
        for (const RoceRow& row : Rows())
        {
            all.push_back(row.option);
        }
        return all;
    }();
    return options;
}

RoceSettings RoceSettings::Parse(const std::string& text, const std::string& option)
{
    const NamedValues read = ReadNamedValues(text, option);
    Settings given(option, read.name);
    for (const auto& [key, value] : read.values)
    {
        RejectUnknown(key, option);
        given.Set(key, value);
    }
    RoceSettings settings;
    for (const RoceRow& row : Rows())
    {
        RoceValue value(given, row.option);
        row.read(value, settings);
        const RoceNeeds missing = settings.pfc ? RoceNeeds::NoPfc : RoceNeeds::Pfc;
        if (row.needs == missing && given.Has(row.option.name))
        {
            value.Refuse(settings.pfc ? "nothing with pfc=on" : "nothing with pfc=off");
        }
    }
    return settings;
}

std::string RoceSettings::Fingerprint() const
{
    std::string text = "roce 2";
    for (const RoceRow& row : Rows())
    {
        text += " " + row.option.name + "=" + row.value(*this);
    }
    return text + (fairFloor ? " fair-floor" : "");
}

int64_t RoceSettings::LargestFrame(int switches) const
{
    const int64_t padded = CeilDivide(mtu, kPayloadPadding) * kPayloadPadding;
    const auto traits = MakeRoceControl(control, "cc")->Traits();
    return padded + headerBytes + messageBytes + (traits.telemetry ? IntBytes(switches) : 0);
}

} // namespace legacy::fabric
