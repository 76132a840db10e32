#include "synchronisation.h"

#include "base/error.h"
#include "base/median.h"
#include "base/settings.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace legacy::fabric
{

namespace
{

constexpr int kMaxWorkers = 1 << 20;
constexpr double kMaxFactor = 1e6;

/// Returns the workers in the order of their times; of equal times, the lower number is first.
std::vector<int> Fastest(const std::vector<TimeNs>& ready)
{
    std::vector<int> order(ready.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return ready[a] < ready[b]; });
    return order;
}

} // namespace

Synchronisation::Synchronisation(const std::string& text, const std::string& option)
    : m_text(text),
      m_option(option)
{
    Settings settings = Settings::FromText(text, option);
    const std::string& type = settings.Type();
    if (type == "backup")
    {
        m_backup = settings.Int("k", 1, 0, kMaxWorkers);
    }
    else if (type == "deadline")
    {
        m_deadline = true;
        if (settings.Has("time") == settings.Has("factor"))
        {
            throw Error(option, text, "deadline with either time=50ms or factor=1.5");
        }
        m_time = settings.Time("time", 0);
        m_factor = settings.Real("factor", 0, 1, kMaxFactor);
        m_minimum = settings.Int("min", 1, 1, kMaxWorkers);
        if (settings.Has("time") && m_time == 0)
        {
            throw Error(settings.Location("time"), settings.Text("time", ""), "a time above 0");
        }
    }
    else if (type != "barrier")
    {
        throw Error(option, text, "barrier, backup:k=2, deadline:time=50ms, deadline:factor=1.5");
    }
    settings.RejectUnread();
}

const std::string& Synchronisation::Text() const
{
    return m_text;
}

bool Synchronisation::MayDrop() const
{
    return m_deadline || m_backup > 0;
}

void Synchronisation::CheckWorkers(int workers) const
{
    const std::string allowed = " of " + std::to_string(workers) + " workers";
    if (m_backup >= workers)
    {
        throw Error(m_option, m_text, "k below the number" + allowed);
    }
    if (m_minimum > workers)
    {
        throw Error(m_option, m_text, "min at most the number" + allowed);
    }
}

TimeNs Synchronisation::Deadline(const std::vector<TimeNs>& ready) const
{
    return m_time > 0 ? m_time : RoundedTime(m_factor * Median(ready));
}

Participation Synchronisation::Decide(const std::vector<TimeNs>& ready) const
{
    assert(!ready.empty());
    const auto workers = static_cast<int>(ready.size());
    CheckWorkers(workers);
    const std::vector<int> order = Fastest(ready);
    int count = workers - m_backup;
    TimeNs decided = ready[order[count - 1]];
    if (m_deadline)
    {
        decided = Deadline(ready);
        count = static_cast<int>(std::count_if(
            ready.begin(), ready.end(), [&](TimeNs time) { return time <= decided; }));
        if (count < m_minimum)
        {
            count = m_minimum;
            decided = ready[order[count - 1]];
        }
    }
    if (count == workers)
    {
        return {};
    }
    Participation participation{{order.begin(), order.begin() + count}, decided};
    std::sort(participation.workers.begin(), participation.workers.end());
    return participation;
}

} // namespace legacy::fabric
