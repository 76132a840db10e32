#include "dropout.h"

#include "base/draws.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/settings.h"

#include <charconv>
#include <cmath>

namespace legacy::fabric
{

namespace
{

constexpr uint64_t kDropoutStream = 0x64726F70ULL;

double DropoutDraw(uint64_t seed, uint64_t key, int64_t client, uint64_t index)
{
    return UnitInterval(
        HashWords({kDropoutStream, seed, key, static_cast<uint64_t>(client), index}));
}

} // namespace

Dropout Dropout::Parse(const std::string& text, uint64_t seed, const std::string& option)
{
    Dropout dropout;
    dropout.m_seed = seed;
    Settings settings = Settings::FromText(text, option);
    const std::string& type = settings.Type();
    if (type == "off")
    {
        settings.RejectUnread();
        return dropout;
    }
    if (type == "hazard")
    {
        dropout.m_mean = static_cast<double>(settings.Time("mean", 0));
        settings.RejectUnread();
        if (dropout.m_mean <= 0)
        {
            throw Error(settings.Location("mean"), settings.Text("mean", "nothing"), "above 0 s");
        }
        return dropout;
    }
    const char* end = type.data() + type.size();
    auto [rest, error] = std::from_chars(type.data(), end, dropout.m_chance);
    // The condition is negated so that NaN fails.
    if (error != std::errc() || rest != end || !(dropout.m_chance >= 0 && dropout.m_chance <= 1))
    {
        throw Error(option, text, "a probability from 0 to 1, hazard:mean=TIME, or off");
    }
    const std::string where = settings.Text("where", "work");
    settings.RejectUnread();
    if (where != "work" && where != "upload" && where != "any")
    {
        throw Error(settings.Location("where"), where, "work, upload, any");
    }
    dropout.m_any = where == "any";
    dropout.m_stage = where == "upload" ? TaskStage::Upload : TaskStage::Work;
    return dropout;
}

Loss Dropout::LossOf(uint64_t key, int64_t client) const
{
    Loss loss;
    loss.lost = m_chance > 0 && DropoutDraw(m_seed, key, client, 0) < m_chance;
    if (loss.lost)
    {
        const double stage = 3 * DropoutDraw(m_seed, key, client, 1);
        loss.stage = m_any ? static_cast<TaskStage>(static_cast<int>(stage)) : m_stage;
        loss.part = DropoutDraw(m_seed, key, client, 2);
    }
    return loss;
}

TimeNs Dropout::HazardOf(uint64_t key, int64_t client) const
{
    if (m_mean == 0)
    {
        return kNever;
    }
    const double drawn = -m_mean * std::log(DropoutDraw(m_seed, key, client, 3));
    return RoundedTime(std::ceil(drawn / 1e3) * 1e3);
}

bool Dropout::DependsOnTime() const
{
    return m_mean > 0;
}

double Dropout::Chance() const
{
    return m_chance;
}

} // namespace legacy::fabric
