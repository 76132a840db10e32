#include "straggler-trace.h"

#include "base/error.h"
#include "base/files/plain_file.h"
#include "base/median.h"
#include "base/parse.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>

namespace legacy::fabric
{

namespace
{

/// Times by step and worker as the file numbers them.
using Table = std::map<int64_t, std::map<int64_t, double>>;

template <typename Number>
Number ParseCell(const std::string& text, const std::string& where, const std::string& allowed)
{
    constexpr Number kLargest = static_cast<Number>(1'000'000'000'000'000);
    Number number{};
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, number);
    // Negated, so that NaN fails.
    if (error != std::errc() || rest != end || !(number >= 0 && number <= kLargest))
    {
        throw Error(where, text, allowed);
    }
    return number;
}

/// A Reader finds the named columns of the file and reads its rows.
class Reader
{
  public:
    explicit Reader(Settings& settings)
        : m_path(settings.Text("file", "")),
          m_stepName(settings.Text("step", "step")),
          m_workerName(settings.Text("worker", "worker")),
          m_timeNames(Split(settings.Text("time", "time"), '+')),
          m_file(OpenToRead(m_path))
    {
        if (m_path.empty() || !m_file)
        {
            throw Error(settings.Location("file"), m_path, "a CSV file that can be read");
        }
    }

    Table Read()
    {
        std::string line;
        if (!NextLine(line))
        {
            throw Error(m_path + ": empty; a header line and rows were expected");
        }
        m_header = Split(line, ',');
        const size_t stepColumn = Column(m_stepName);
        const size_t workerColumn = Column(m_workerName);
        std::vector<size_t> timeColumns;
        for (const std::string& name : m_timeNames)
        {
            timeColumns.push_back(Column(name));
        }
        Table table;
        while (NextLine(line))
        {
            const std::vector<std::string> cells = Split(line, ',');
            CheckWidth(cells);
            const auto step = ParseCell<int64_t>(cells[stepColumn], Where(m_stepName), kWhole);
            const auto worker =
                ParseCell<int64_t>(cells[workerColumn], Where(m_workerName), kWhole);
            double& time = table[step][worker];
            time = std::max(time, Time(cells, timeColumns));
        }
        return table;
    }

  private:
    static constexpr double kLeastTime = 1e-15; ///< shorter times count as 0
    static constexpr const char* kWhole = "whole numbers from 0";
    static constexpr const char* kTime = "positive numbers";

    bool NextLine(std::string& line)
    {
        ++m_line;
        if (!std::getline(m_file, line))
        {
            return false;
        }
        if (!line.empty() && line.back() == '\r')
        {
            line.pop_back();
        }
        return true;
    }

    std::string Where(const std::string& column) const
    {
        return m_path + ":" + std::to_string(m_line) + ": " + column;
    }

    size_t Column(const std::string& name) const
    {
        const auto found = std::find(m_header.begin(), m_header.end(), name);
        if (found == m_header.end())
        {
            std::string known;
            for (const std::string& column : m_header)
            {
                known += (known.empty() ? "" : ", ") + column;
            }
            throw Error(m_path + ":1: column", name, known);
        }
        return static_cast<size_t>(found - m_header.begin());
    }

    void CheckWidth(const std::vector<std::string>& cells) const
    {
        if (cells.size() != m_header.size())
        {
            throw Error(Where("cells"),
                        std::to_string(cells.size()),
                        std::to_string(m_header.size()) + ", as the header has");
        }
    }

    /// Returns the sum of the columns. Each column may be 0 (an idle stage), but their sum may not.
    double Time(const std::vector<std::string>& cells, const std::vector<size_t>& columns) const
    {
        double sum = 0;
        for (size_t i = 0; i < columns.size(); ++i)
        {
            sum += ParseCell<double>(cells[columns[i]], Where(m_timeNames[i]), kTime);
        }
        if (sum < kLeastTime)
        {
            throw Error(Where(m_timeNames.front()), cells[columns.front()], kTime);
        }
        return sum;
    }

    std::string m_path;
    std::string m_stepName;
    std::string m_workerName;
    std::vector<std::string> m_timeNames;
    std::ifstream m_file;
    int64_t m_line = 0;
    std::vector<std::string> m_header;
};

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

/// Keeps the columns `workers`, numbered as in the file; `known` are those numbers, ascending.
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
    const Table table = Reader(settings).Read();
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
