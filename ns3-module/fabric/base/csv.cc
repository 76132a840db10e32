#include "csv.h"

#include "error.h"
#include "text-file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace legacy::fabric
{

namespace
{

constexpr size_t kMostBytesOfFile = size_t{1} << 30;

template <typename Value>
Value ParseCell(std::string_view text, const std::string& where, Value least, Value most)
{
    Value value{};
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    // Negated, so that NaN fails.
    if (error != std::errc() || rest != end || !(value >= least && value <= most))
    {
        char range[80];
        std::snprintf(range,
                      sizeof range,
                      "a number from %.15g to %.15g",
                      static_cast<double>(least),
                      static_cast<double>(most));
        throw Error(where, std::string(text), range);
    }
    return value;
}

} // namespace

CsvFile::CsvFile(const std::string& path, const std::string& option)
    : m_path(path),
      m_text(ReadText(path, kMostBytesOfFile, option))
{
    std::string_view line;
    if (!NextLine(line))
    {
        throw Error(path + ": empty; a header line and rows were expected");
    }
    Split(line);
    for (std::string_view cell : m_cells)
    {
        m_header.emplace_back(cell);
    }
}

bool CsvFile::NextLine(std::string_view& line)
{
    while (m_next < m_text.size())
    {
        const size_t end = std::min(m_text.find('\n', m_next), m_text.size());
        line = std::string_view(m_text).substr(m_next, end - m_next);
        m_next = end + 1;
        ++m_line;
        if (!line.empty() && line.back() == '\r')
        {
            line.remove_suffix(1);
        }
        if (!line.empty())
        {
            return true;
        }
    }
    return false;
}

void CsvFile::Split(std::string_view line)
{
    m_cells.clear();
    if (line.find('"') == std::string_view::npos)
    {
        size_t begin = 0;
        while (true)
        {
            const size_t end = line.find(',', begin);
            m_cells.push_back(line.substr(begin, end - begin));
            if (end == std::string_view::npos)
            {
                return;
            }
            begin = end + 1;
        }
    }
    m_unquoted.assign(1, "");
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i)
    {
        if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
        {
            m_unquoted.back() += line[++i];
        }
        else if (line[i] == '"')
        {
            quoted = !quoted;
        }
        else if (line[i] == ',' && !quoted)
        {
            m_unquoted.emplace_back();
        }
        else
        {
            m_unquoted.back() += line[i];
        }
    }
    if (quoted)
    {
        throw Error(Where() + ": a quote that is not closed");
    }
    m_cells.assign(m_unquoted.begin(), m_unquoted.end());
}

const std::vector<std::string>& CsvFile::Columns() const
{
    return m_header;
}

bool CsvFile::Has(const std::string& column) const
{
    return std::find(m_header.begin(), m_header.end(), column) != m_header.end();
}

size_t CsvFile::Column(const std::string& column) const
{
    const auto found = std::find(m_header.begin(), m_header.end(), column);
    if (found == m_header.end())
    {
        std::string known;
        for (const std::string& name : m_header)
        {
            known += (known.empty() ? "" : ", ") + name;
        }
        throw Error(m_path + ":1: column", column, known);
    }
    return static_cast<size_t>(found - m_header.begin());
}

bool CsvFile::Next()
{
    std::string_view line;
    if (!NextLine(line))
    {
        return false;
    }
    Split(line);
    if (m_cells.size() != m_header.size())
    {
        throw Error(Where() + ": cells",
                    std::to_string(m_cells.size()),
                    std::to_string(m_header.size()) + ", as the header has");
    }
    return true;
}

std::string_view CsvFile::Text(size_t column) const
{
    return m_cells[column];
}

double CsvFile::Number(size_t column, double least, double most) const
{
    double value = 0;
    const std::string_view text = m_cells[column];
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    // The text of where a cell stands is made for errors alone. Negated, so that NaN fails.
    if (error != std::errc() || rest != end || !(value >= least && value <= most))
    {
        ParseCell<double>(text, Where(column), least, most);
    }
    return value;
}

int64_t CsvFile::Whole(size_t column, int64_t least, int64_t most) const
{
    return ParseCell<int64_t>(m_cells[column], Where(column), least, most);
}

std::string CsvFile::Where() const
{
    return m_path + ":" + std::to_string(m_line);
}

std::string CsvFile::Where(size_t column) const
{
    return Where() + ": " + m_header[column];
}

const std::string& CsvFile::Path() const
{
    return m_path;
}

} // namespace legacy::fabric
