#include "straggler-trace.h"

#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/median.h"
#include "base/number.h"
#include "base/parse.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace legacy::fabric
{

namespace
{

/// Times by step and worker, with the file's numbers of both.
using Table = std::map<int64_t, std::map<int64_t, double>>;

constexpr double kLeastTime = 1e-15; // shorter times count as 0
constexpr double kMostTime = 1e15;
constexpr int64_t kMostNumber = 1'000'000'000'000'000;

/// Returns the sum of a row's columns. A single column may be 0 (an idle stage), but the sum may
/// not.
double TimeOf(const CsvFile& file, const std::vector<size_t>& columns)
{
    const auto require = [&file](bool ok, size_t column)
    {
        if (!ok)
        {
            throw Error(file.Where(column), std::string(file.Text(column)), "positive numbers");
        }
    };
    double sum = 0;
    for (const size_t column : columns)
    {
        const double time = ParseNumber(file.Text(column)).value_or(-1);
        require(time >= 0 && time <= kMostTime, column);
        sum += time;
    }
    require(sum >= kLeastTime, columns.front());
    return sum;
}

/// Reads the columns of the file that `settings` name.
Table ReadTable(Settings& settings)
{
    CsvFile file(settings.Text("file", ""), settings.Location("file"));
    const size_t stepColumn = file.Column(settings.Text("step", "step"));
    const size_t workerColumn = file.Column(settings.Text("worker", "worker"));
    std::vector<size_t> timeColumns;
    for (const std::string& name : Split(settings.Text("time", "time"), '+'))
    {
        timeColumns.push_back(file.Column(name));
    }
    Table table;
    while (file.Next())
    {
        const int64_t step = file.Whole(stepColumn, 0, kMostNumber);
        double& time = table[step][file.Whole(workerColumn, 0, kMostNumber)];
        time = std::max(time, TimeOf(file, timeColumns));
    }
    return table;
}

/// Returns the table as rows of equal length, workers ascending.
std::vector<std::vector<double>> Rectangle(const Table& table, const std::string& path)
{
    if (table.empty())
    {
        throw Error(path + ": no rows");
    }
    const auto& first = table.begin()->second;
    std::vector<std::vector<double>> rows;
    for (const auto& [step, times] : table)
    {
        std::vector<double>& row = rows.emplace_back();
        for (const auto& entry : times)
        {
            row.push_back(entry.second);
        }
        const bool same =
            std::equal(first.begin(),
                       first.end(),
                       times.begin(),
                       times.end(),
                       [](const auto& a, const auto& b) { return a.first == b.first; });
        if (!same)
        {
            throw Error(path + ": step " + std::to_string(step) +
                        ": its workers are not those of step " +
                        std::to_string(table.begin()->first) + "; every step needs all of them");
        }
    }
    return rows;
}

void Normalise(std::vector<std::vector<double>>& rows, const std::string& unit)
{
    if (unit == "factor")
    {
        return;
    }
    std::vector<double> all;
    for (const std::vector<double>& row : rows)
    {
        all.insert(all.end(), row.begin(), row.end());
    }
    const double overall = Median(all);
    for (std::vector<double>& row : rows)
    {
        const double typical = unit == "run" ? overall : Median(row);
        for (double& value : row)
        {
            value /= typical;
        }
    }
}

/// Keeps the columns of `workers`, which are numbered as in the file; `known` has all these numbers
/// in ascending order.
void Choose(std::vector<std::vector<double>>& rows,
            const std::vector<int>& workers,
            const std::map<int64_t, double>& known,
            const std::string& location)
{
    std::vector<size_t> columns;
    for (int worker : workers)
    {
        const auto found = known.find(worker);
        if (found == known.end())
        {
            throw Error(location, std::to_string(worker), "workers of the trace");
        }
        columns.push_back(static_cast<size_t>(std::distance(known.begin(), found)));
    }
    for (std::vector<double>& row : rows)
    {
        std::vector<double> chosen;
        for (size_t column : columns)
        {
            chosen.push_back(row[column]);
        }
        row = std::move(chosen);
    }
}

} // namespace

StragglerTrace::StragglerTrace(Settings& settings) : m_path(settings.Text("file", ""))
{
    const std::string unit = settings.Text("unit", "step");
    if (unit != "step" && unit != "run" && unit != "factor")
    {
        throw Error(settings.Location("unit"), unit, "step, run, factor");
    }
    const std::string chosen = settings.Text("workers", "");
    const Table table = ReadTable(settings);
    m_factors = Rectangle(table, m_path);
    Normalise(m_factors, unit);
    if (settings.Has("workers"))
    {
        const std::string location = settings.Location("workers");
        Choose(m_factors, ParseWorkerList(chosen, location), table.begin()->second, location);
    }
}

int64_t StragglerTrace::Steps() const
{
    return static_cast<int64_t>(m_factors.size());
}

int StragglerTrace::Workers() const
{
    return static_cast<int>(m_factors.front().size());
}

std::vector<double> StragglerTrace::Factors(int workers, uint64_t step) const
{
    if (workers > Workers())
    {
        throw Error("stragglers: " + m_path,
                    std::to_string(workers) + " workers",
                    "at most " + std::to_string(Workers()) +
                        ", as the trace has; workers=0+1+...+0+1 uses some of them again");
    }
    const std::vector<double>& row = m_factors[step % m_factors.size()];
    return {row.begin(), row.begin() + workers};
}

std::vector<int> ParseWorkerList(const std::string& text, const std::string& location)
{
    std::vector<int> workers;
    const char* next = text.data();
    const char* end = text.data() + text.size();
    while (true)
    {
        int worker = 0;
        auto [rest, error] = std::from_chars(next, end, worker);
        if (error != std::errc() || worker < 0 || (rest != end && *rest != '+'))
        {
            throw Error(location, text, "numbers of workers joined by '+', such as 3+7");
        }
        workers.push_back(worker);
        if (rest == end)
        {
            return workers;
        }
        next = rest + 1;
    }
}

} // namespace legacy::fabric
