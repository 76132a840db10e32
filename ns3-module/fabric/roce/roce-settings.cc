#include "roce-settings.h"

#include "controls.h"

#include "fabric/base/error.h"
#include "fabric/base/nearest.h"
#include "fabric/base/settings.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace legacy::fabric
{

namespace
{

constexpr int kMostPayload = 9000;
constexpr int kLeastPayload = 64;

/// Throws Error on a key that is no option of roce.
void RejectUnknown(const std::string& key, const std::string& where)
{
    std::vector<std::string> known;
    std::string allowed;
    for (const RoceOption& option : RoceOptions())
    {
        known.push_back(option.name);
        allowed += (allowed.empty() ? "" : ", ") + option.name;
    }
    if (std::find(known.begin(), known.end(), key) != known.end())
    {
        return;
    }
    const std::string nearest = Nearest(key, known);
    throw Error(where + ": unknown key of roce",
                key,
                allowed + (nearest.empty() ? "" : "; the nearest is '" + nearest + "'"));
}

/// A RoceReader reads the values of options, each with the default that the list of options has.
class RoceReader
{
  public:
    explicit RoceReader(Settings settings) : m_settings(std::move(settings))
    {
    }

    bool Has(const std::string& key) const
    {
        return m_settings.Has(key);
    }

    std::string Location(const std::string& key) const
    {
        return m_settings.Location(key);
    }

    std::string Text(const std::string& key)
    {
        for (const RoceOption& option : RoceOptions())
        {
            if (option.name == key)
            {
                return m_settings.Text(key, option.fallback);
            }
        }
        std::abort(); // a key without a line in the list
    }

    /// Returns true for the first of two names, false for the second.
    bool Either(const std::string& key, const std::string& yes, const std::string& no)
    {
        const std::string text = Text(key);
        if (text != yes && text != no)
        {
            Refuse(key, text, yes + ", " + no);
        }
        return text == yes;
    }

    int Int(const std::string& key, int minimum, int maximum)
    {
        return Read(key).Int(key, 0, minimum, maximum);
    }

    double Real(const std::string& key, double minimum, double maximum)
    {
        return Read(key).Real(key, 0, minimum, maximum);
    }

    /// Returns 0 for the word that means it.
    int64_t Bytes(const std::string& key, const std::string& zero, int64_t minimum)
    {
        const std::string text = Text(key);
        if (text == zero)
        {
            return 0;
        }
        const int64_t bytes = ParseBytes(text, Location(key));
        if (bytes < minimum)
        {
            Refuse(key, text, zero + ", or " + std::to_string(minimum) + " bytes or more");
        }
        return bytes;
    }

    TimeNs Time(const std::string& key, const std::string& zero)
    {
        const std::string text = Text(key);
        return text == zero ? 0 : ParseTime(text, Location(key));
    }

    [[noreturn]] void
    Refuse(const std::string& key, const std::string& value, const std::string& allowed) const
    {
        throw Error(Location(key), value, allowed);
    }

  private:
    Settings Read(const std::string& key)
    {
        Settings one(m_settings.Where(), m_settings.Type());
        one.Set(key, Text(key));
        return one;
    }

    Settings m_settings;
};

std::vector<std::string> SplitAt(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);)
    {
        parts.push_back(part);
    }
    return parts;
}

/// Reads "host=3+from=1ms+for=2ms".
RoceStorm ParseStorm(const std::string& text, const std::string& where)
{
    Settings settings(where, "storm");
    for (const std::string& item : SplitAt(text, '+'))
    {
        const size_t equals = item.find('=');
        if (equals == std::string::npos)
        {
            throw Error(where, text, "off, or host=NUMBER+from=TIME+for=TIME");
        }
        settings.Set(item.substr(0, equals), item.substr(equals + 1));
    }
    RoceStorm storm;
    storm.host = settings.Int("host", 0, 0, 1 << 24);
    storm.from = settings.Time("from", 0);
    storm.length = settings.Time("for", 0);
    settings.RejectUnread();
    if (storm.length == 0)
    {
        throw Error(where, text, "for=TIME above 0");
    }
    return storm;
}

/// Reads the window, and how many frames each ACK answers, which depends on it.
void ReadWindow(RoceReader& reader, const RoceTraits& traits, RoceSettings& settings)
{
    const std::string window = reader.Text("window");
    settings.windowIsBdp = window == "bdp";
    if (window != "bdp")
    {
        settings.windowBytes = reader.Bytes("window", "off", settings.mtu + settings.headerBytes);
    }
    const bool each = traits.everyFrame || settings.windowIsBdp || settings.windowBytes > 0;
    if (reader.Text("ack") == "auto")
    {
        settings.framesPerAck = each ? 1 : settings.framesPerAck;
        return;
    }
    settings.framesPerAck = reader.Int("ack", 1, 1 << 16);
    if (traits.everyFrame && settings.framesPerAck > 1)
    {
        reader.Refuse(
            "ack", reader.Text("ack"), "1: " + settings.control + " reads each frame's ACK");
    }
}

} // namespace

const std::vector<RoceOption>& RoceOptions()
{
    static const std::vector<RoceOption> options = {
        {"cc", "dcqcn", "a congestion control", "congestion control, NAME:key=value+key=value"},
        {"pfc", "on", "on, off", "lossless class of data; off: switches drop at their thresholds"},
        {"mtu", "4096", "64 to 9000", "payload bytes of a frame; InfiniBand's: 256 to 4096"},
        {"ack", "auto", "auto, 1 to 65536", "frames for each ACK; auto: 16, and 1 with a window"},
        {"ack-priority",
         "on",
         "on, off",
         "ACKs and CNPs go first, in a class that is never paused"},
        {"window",
         "off",
         "off, bdp, bytes",
         "most bytes in flight; bdp: the bandwidth-delay product of the pair"},
        {"buffer", "auto", "auto, bytes", "buffer of each switch; auto: 5 KB for each Gbit/s"},
        {"alpha", "0.125", "0.001 to 64", "of dynamic thresholds"},
        {"alpha-by-rate", "on", "on, off", "alpha doubles with each doubling of the hosts' rate"},
        {"egress-alpha", "1", "0.001 to 64", "of dynamic thresholds of queues with pfc=off"},
        {"headroom", "auto", "auto, bytes", "of each port; auto: what its rate and delay need"},
        {"xon", "auto", "auto, bytes", "how far below xoff a pause ends; auto: two full frames"},
        {"quanta", "65535", "1 to 65535", "length of a pause in 512 bit times; renewed at half"},
        {"pfc-response", "0us", "a time", "time that a pause takes to act, which headroom allows"},
        {"pfc-drops", "end", "end, allow", "what a lost lossless frame does to the run"},
        {"ecn",
         EcnProfile::kDefault,
         "off, KMIN/KMAX/PMAX@RATE",
         "marks, in proportion to the port's rate; several rates with +"},
        {"mark-at",
         "dequeue",
         "dequeue, enqueue",
         "by the queue behind a leaving frame, or with an "
         "arriving one"},
        {"rto",
         "auto",
         "auto, a time",
         "time-out, doubled in a row; auto: 1 ms, and 67 ms where nothing is ever lost"},
        {"retries", "7", "1 to 1000", "time-outs in a row that end the run"},
        {"switch-delay", "0us", "a time", "of a frame in each switch"},
        {"header", "82", "0 to 1000", "bytes of a frame besides its payload, for comparisons"},
        {"message-header", "16", "0 to 1000", "further bytes of a message's first frame"},
        {"ack-bytes", "86", "20 to 1000", "bytes of an ACK, for comparisons"},
        {"vlan", "off", "on, off", "a VLAN tag of 4 bytes in each frame"},
        {"watchdog",
         "off",
         "off, a time",
         "a switch's port that is paused so long drops its frames"},
        {"storm",
         "off",
         "off, host=N+from=TIME+for=TIME",
         "a faulty NIC, that pauses its switch all the time"},
        {"idle",
         "reset",
         "reset, keep, message",
         "rates and windows begin anew after an idle time, never, or with each message"}};
    return options;
}

RoceSettings RoceSettings::Parse(const std::string& text, const std::string& option)
{
    Settings given = Settings::FromText(text, option);
    const size_t colon = text.find(':');
    for (size_t begin = colon; begin != std::string::npos; begin = text.find(',', begin + 1))
    {
        RejectUnknown(text.substr(begin + 1, text.find('=', begin) - begin - 1), option);
    }
    RoceReader reader(std::move(given));
    RoceSettings settings;
    settings.control = CanonicalRoceControl(reader.Text("cc"), reader.Location("cc"));
    const auto control = MakeRoceControl(settings.control, reader.Location("cc"));
    const RoceTraits& traits = control->Traits();
    settings.pfc = reader.Either("pfc", "on", "off");
    settings.mtu = reader.Int("mtu", kLeastPayload, kMostPayload);
    const int vlan = reader.Either("vlan", "on", "off") ? 4 : 0;
    settings.headerBytes = reader.Int("header", 0, 1000) + vlan;
    settings.messageBytes = reader.Int("message-header", 0, 1000);
    settings.ackBytes = reader.Int("ack-bytes", kGapBytes, 1000) + vlan;
    if (settings.headerBytes < kGapBytes)
    {
        reader.Refuse("header", reader.Text("header"), "20 to 1000: preamble and gap are 20");
    }
    ReadWindow(reader, traits, settings);
    settings.acksFirst = reader.Either("ack-priority", "on", "off");
    settings.bufferBytes = reader.Bytes("buffer", "auto", 1);
    settings.alpha = reader.Real("alpha", 0.001, 64);
    settings.alphaByRate = reader.Either("alpha-by-rate", "on", "off");
    settings.egressAlpha = reader.Real("egress-alpha", 0.001, 64);
    settings.headroomBytes = reader.Bytes("headroom", "auto", 1);
    settings.xonBytes = reader.Bytes("xon", "auto", 1);
    settings.quanta = reader.Int("quanta", 1, 65535);
    settings.response = reader.Time("pfc-response", "0us");
    settings.dropsAllowed = reader.Either("pfc-drops", "allow", "end");
    settings.ecnText = reader.Text("ecn");
    settings.ecn = EcnProfile::FromText(settings.ecnText, reader.Location("ecn"));
    if (!settings.ecn && traits.notifications)
    {
        reader.Refuse(
            "ecn", settings.ecnText, "marks: " + settings.control + " reacts to them alone");
    }
    settings.markAtEnqueue = reader.Either("mark-at", "enqueue", "dequeue");
    settings.rto = reader.Time("rto", "auto");
    if (settings.rto == 0 && reader.Text("rto") != "auto")
    {
        reader.Refuse("rto", reader.Text("rto"), "auto, a time above 0");
    }
    settings.retries = reader.Int("retries", 1, 1000);
    settings.switchDelay = reader.Time("switch-delay", "");
    settings.watchdog = reader.Time("watchdog", "off");
    if (const std::string storm = reader.Text("storm"); storm != "off")
    {
        settings.storm = ParseStorm(storm, reader.Location("storm"));
    }
    if (const std::string idle = reader.Text("idle"); idle != "reset")
    {
        settings.idle =
            reader.Either("idle", "message", "keep") ? RoceIdle::Message : RoceIdle::Keep;
    }
    for (const char* key : {"headroom", "xon", "quanta", "pfc-response", "pfc-drops", "watchdog"})
    {
        if (!settings.pfc && reader.Has(key))
        {
            reader.Refuse(key, reader.Text(key), "nothing with pfc=off");
        }
    }
    if (settings.pfc && reader.Has("egress-alpha"))
    {
        reader.Refuse("egress-alpha", reader.Text("egress-alpha"), "nothing with pfc=on");
    }
    return settings;
}

std::string RoceSettings::Fingerprint() const
{
    std::ostringstream text;
    text.precision(17);
    text << "roce 1 " << control;
    for (const int64_t value : {int64_t{pfc},
                                int64_t{mtu},
                                int64_t{headerBytes},
                                int64_t{messageBytes},
                                int64_t{ackBytes},
                                int64_t{framesPerAck},
                                int64_t{acksFirst},
                                int64_t{windowIsBdp},
                                windowBytes,
                                bufferBytes,
                                int64_t{alphaByRate},
                                headroomBytes,
                                xonBytes,
                                int64_t{quanta},
                                response,
                                int64_t{dropsAllowed},
                                int64_t{markAtEnqueue},
                                rto,
                                int64_t{retries},
                                switchDelay,
                                watchdog,
                                static_cast<int64_t>(idle)})
    {
        text << ' ' << value;
    }
    text << ' ' << alpha << ' ' << egressAlpha << ' ' << ecnText;
    if (storm)
    {
        text << " storm " << storm->host << ' ' << storm->from << ' ' << storm->length;
    }
    return text.str();
}

int64_t RoceSettings::LargestFrame(int switches) const
{
    const int64_t padded = CeilDivide(mtu, kPayloadPadding) * kPayloadPadding;
    const auto traits = MakeRoceControl(control, "cc")->Traits();
    return padded + headerBytes + messageBytes + (traits.telemetry ? IntBytes(switches) : 0);
}

} // namespace legacy::fabric
