#include "text-file.h"

#include "error.h"
#include "plain-file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <zlib.h>

namespace legacy::fabric
{

namespace
{

constexpr size_t kShownCharacters = 60;
constexpr const char* kBlanks = " \t\r\v\f";

struct CloseGzip
{
    void operator()(gzFile file) const
    {
        gzclose(file);
    }
};

using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

bool IsControl(char c)
{
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/// `option` names what the file was given for; "": a topology.
[[noreturn]] void
ThrowUnreadable(const std::string& option, const std::string& path, const std::string& reason)
{
    if (option.empty())
    {
        throw Error("topology", path, "a readable file, or a topology's name" + reason);
    }
    throw Error(option, path, "a file that can be read" + reason);
}

std::string SystemReason(int error)
{
    return std::string(" (") + std::strerror(error) + ")";
}

/// Returns the length of the UTF-8 sequence at the start of a text; 0: there is none (Unicode,
/// table 3-7).
size_t SequenceLength(std::string_view text)
{
    const auto first = static_cast<unsigned char>(text[0]);
    const auto follows = [&](size_t i, int least = 0x80, int most = 0xBF)
    {
        const int byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
        return byte >= least && byte <= most;
    };
    if (first < 0x80)
    {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF)
    {
        return follows(1) ? 2 : 0;
    }
    if (first >= 0xE0 && first <= 0xEF)
    {
        const bool second = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
        return second && follows(2) ? 3 : 0;
    }
    const bool second = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return first >= 0xF0 && first <= 0xF4 && second && follows(2) && follows(3) ? 4 : 0;
}

/// Names in a file get into files that are UTF-8. A text that is not is taken for Latin-1, of which
/// every byte is a character.
std::string ToUtf8(std::string text)
{
    size_t valid = 0;
    while (valid < text.size())
    {
        const size_t length = SequenceLength(std::string_view(text).substr(valid));
        if (length == 0)
        {
            break;
        }
        valid += length;
    }
    if (valid == text.size())
    {
        return text;
    }
    std::string encoded;
    for (const char c : text)
    {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80)
        {
            encoded += c;
            continue;
        }
        encoded += static_cast<char>(0xC0 | byte >> 6);
        encoded += static_cast<char>(0x80 | (byte & 0x3F));
    }
    return encoded;
}

std::string ShortestReal(double value)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", value);
    return buffer;
}

} // namespace

std::string ReadText(const std::string& path, size_t mostBytes, const std::string& option)
{
    errno = 0;
    if (!MayRead(path) && errno == 0)
    {
        ThrowUnreadable(option, path, " (it is no plain file)");
    }
    const GzipFile file(errno == 0 ? gzopen(path.c_str(), "rb") : nullptr);
    if (!file)
    {
        ThrowUnreadable(
            option, path, errno == ENOENT ? "" : SystemReason(errno == 0 ? ENOMEM : errno));
    }
    std::string text;
    size_t held = 0;
    while (true)
    {
        constexpr size_t kChunk = size_t{1} << 18;
        text.resize(held + kChunk);
        const int read = gzread(file.get(), text.data() + held, kChunk);
        if (read < 0)
        {
            int code = 0;
            const std::string reason = gzerror(file.get(), &code);
            const bool system = code == Z_ERRNO;
            ThrowUnreadable(
                option, path, system ? SystemReason(errno) : " (gzip: " + OneLine(reason) + ")");
        }
        held += static_cast<size_t>(read);
        if (held > mostBytes)
        {
            throw Error(path + ": size",
                        "more than " + std::to_string(mostBytes) + " bytes",
                        "at most that, unpacked");
        }
        if (read == 0)
        {
            // A packed file that ends too early is told only by the last call.
            int code = 0;
            const std::string reason = gzerror(file.get(), &code);
            if (code == Z_BUF_ERROR)
            {
                ThrowUnreadable(option, path, " (gzip: it ends too early)");
            }
            text.resize(held);
            // Readers would take it for the end of the text, and leave out what follows.
            if (const size_t end = text.find('\0'); end != std::string::npos)
            {
                const auto line = 1 + std::count(text.begin(), text.begin() + end, '\n');
                throw Error(path + ":" + std::to_string(line) + ": a NUL, which no text has");
            }
            return ToUtf8(std::move(text));
        }
    }
}

std::string Shown(std::string_view text)
{
    std::string shown(text.substr(0, kShownCharacters));
    std::replace_if(shown.begin(), shown.end(), IsControl, '?');
    return text.size() <= kShownCharacters ? shown : shown + "...";
}

std::string OneLine(std::string_view text)
{
    std::string line;
    bool blank = false;
    for (const char c : text)
    {
        if (c == ' ' || IsControl(c))
        {
            blank = !line.empty();
            continue;
        }
        line += blank ? " " : "";
        line += c;
        blank = false;
    }
    return line;
}

double ParseReal(std::string_view text, const std::string& where, double minimum, double maximum)
{
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    // Negated, so that NaN fails.
    if (error != std::errc() || rest != end || !(value >= minimum && value <= maximum))
    {
        throw Error(where,
                    Shown(text),
                    "a number from " + ShortestReal(minimum) + " to " + ShortestReal(maximum));
    }
    return value;
}

int64_t
ParseWhole(std::string_view text, const std::string& where, int64_t minimum, int64_t maximum)
{
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || value < minimum || value > maximum)
    {
        throw Error(where,
                    Shown(text),
                    "an integer from " + std::to_string(minimum) + " to " +
                        std::to_string(maximum));
    }
    return value;
}

WordLines::WordLines(const std::string& path, std::string text, char comment)
    : m_path(path),
      m_text(std::move(text)),
      m_comment(comment)
{
}

bool WordLines::Advance()
{
    m_words.clear();
    while (m_words.empty() && m_position < m_text.size())
    {
        const size_t end = std::min(m_text.find('\n', m_position), m_text.size());
        const std::string_view line(m_text.data() + m_position, end - m_position);
        m_lineStart = m_position;
        m_position = end + 1;
        ++m_line;
        size_t last = 0;
        for (size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;
             begin = line.find_first_not_of(kBlanks, last))
        {
            last = std::min(line.find_first_of(kBlanks, begin), line.size());
            m_words.push_back(Placed{std::string(line.substr(begin, last - begin)), begin + 1});
        }
        if (!m_words.empty() && m_comment != 0 && m_words[0].text[0] == m_comment)
        {
            m_words.clear();
        }
    }
    return !m_words.empty();
}

void WordLines::Next(const std::string& what, size_t count)
{
    if (!Advance())
    {
        throw Error(End(), "the end of the file", what);
    }
    if (m_words.size() != count)
    {
        throw Error(Location(std::min(count, m_words.size() - 1)), Line(), what);
    }
}

void WordLines::Again()
{
    if (!m_words.empty())
    {
        m_position = m_lineStart;
        --m_line;
        m_words.clear();
    }
}

size_t WordLines::Count() const
{
    return m_words.size();
}

const std::string& WordLines::Word(size_t word) const
{
    return m_words[word].text;
}

int WordLines::LineNumber() const
{
    return m_line;
}

std::string WordLines::Line() const
{
    std::string line;
    for (const Placed& word : m_words)
    {
        line += (line.empty() ? "" : " ") + word.text;
        if (line.size() > kShownCharacters)
        {
            break;
        }
    }
    return Shown(line);
}

std::string WordLines::Location(size_t word) const
{
    return m_path + ":" + std::to_string(m_line) + ":" + std::to_string(m_words[word].column);
}

std::string WordLines::End() const
{
    return m_path + ":" + std::to_string(m_line + 1);
}

int WordLines::Integer(size_t word, const std::string& what, int minimum, int maximum) const
{
    return static_cast<int>(Whole(word, what, minimum, maximum));
}

int64_t
WordLines::Whole(size_t word, const std::string& what, int64_t minimum, int64_t maximum) const
{
    return ParseWhole(m_words[word].text, Location(word) + ": " + what, minimum, maximum);
}

double WordLines::Real(size_t word, const std::string& what, double minimum, double maximum) const
{
    return ParseReal(m_words[word].text, Location(word) + ": " + what, minimum, maximum);
}

bool WordLines::Parse(size_t word, double& number) const
{
    const std::string& text = m_words[word].text;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end;
}

} // namespace legacy::fabric
