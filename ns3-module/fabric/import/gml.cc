// Reader of GML (Himsolt, "GML: A portable Graph File Format", 1997): keys with numbers, texts, or
// lists in brackets. Of a list inside a node or an edge (such as graphics), only the name is kept.
#include "base/error.h"
#include "base/files/text_file.h"
#include "base/words.h"
#include "network-map.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

namespace legacy::fabric
{

namespace
{

enum class GmlToken
{
    Word, ///< a key or a number
    Text, ///< in quotes
    Open,
    Close,
    End,
};

class GmlFile
{
  public:
    explicit GmlFile(const std::string& path) : m_path(path), m_text(ReadText(path))
    {
        m_graph.path = path;
    }

    RawGraph Read()
    {
        if (m_text.rfind("\xEF\xBB\xBF", 0) == 0)
        {
            m_at = 3;
        }
        bool found = false;
        while (Advance() != GmlToken::End)
        {
            const std::string key = Key();
            if (key == "graph" && !found)
            {
                Enter(key);
                m_graph.line = m_tokenLine;
                ReadGraph();
                found = true;
            }
            else if (key == "graph")
            {
                throw Error(At() + ": graphs", "a second one", "one");
            }
            else
            {
                Value(key);
            }
        }
        if (!found)
        {
            throw Error(At() + ": graphs", "none", "one, as in: graph [ node [ id 0 ] ]");
        }
        for (RawGraph::Edge& edge : m_graph.edges)
        {
            edge.directed = m_directed;
        }
        return std::move(m_graph);
    }

  private:
    std::string At() const
    {
        return m_path + ":" + std::to_string(m_tokenLine);
    }

    void Skip()
    {
        bool lineStart = m_at == 0 || m_text[m_at - 1] == '\n';
        while (m_at < m_text.size())
        {
            const char c = m_text[m_at];
            if (c == '#' && lineStart)
            {
                m_at = std::min(m_text.find('\n', m_at), m_text.size());
            }
            else if (c == '\n')
            {
                ++m_line;
                ++m_at;
                lineStart = true;
            }
            else if (std::isspace(static_cast<unsigned char>(c)) != 0)
            {
                ++m_at;
            }
            else
            {
                return;
            }
        }
    }

    /// Reads the next token, with its text and line.
    GmlToken Advance()
    {
        Skip();
        m_tokenLine = m_line;
        m_token.clear();
        if (m_at >= m_text.size())
        {
            return m_kind = GmlToken::End;
        }
        const char c = m_text[m_at];
        if (c == '[' || c == ']')
        {
            ++m_at;
            m_token = c;
            return m_kind = c == '[' ? GmlToken::Open : GmlToken::Close;
        }
        if (c == '"')
        {
            const size_t end = m_text.find('"', m_at + 1);
            if (end == std::string::npos)
            {
                throw Error(At(), "a text without its closing quote", "\"...\"");
            }
            const std::string_view quoted(m_text.data() + m_at + 1, end - m_at - 1);
            m_line += static_cast<int>(std::count(quoted.begin(), quoted.end(), '\n'));
            m_token = Unescaped(quoted);
            m_at = end + 1;
            return m_kind = GmlToken::Text;
        }
        const size_t end = std::min(m_text.find_first_of(" \t\r\n\v\f[]\"", m_at), m_text.size());
        m_token = m_text.substr(m_at, end - m_at);
        m_at = end;
        return m_kind = GmlToken::Word;
    }

    /// Returns the text with character entities replaced: numeric ones, and the five of XML.
    static std::string Unescaped(std::string_view text)
    {
        constexpr std::array<std::pair<std::string_view, char>, 5> kNamed{
            {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
        std::string plain;
        for (size_t i = 0; i < text.size(); ++i)
        {
            const size_t end =
                text[i] == '&' ? text.substr(i, 12).find(';') : std::string_view::npos;
            if (end == std::string_view::npos)
            {
                plain += text[i];
                continue;
            }
            const std::string_view name = text.substr(i + 1, end - 1);
            const auto named = std::find_if(
                kNamed.begin(), kNamed.end(), [&](const auto& one) { return one.first == name; });
            uint32_t code = 0;
            if (named != kNamed.end())
            {
                plain += named->second;
            }
            else if (name.size() > 1 && name[0] == '#' &&
                     std::from_chars(name.data() + 1, name.data() + name.size(), code).ptr ==
                         name.data() + name.size() &&
                     code > 0 && code < 0x110000)
            {
                AppendUtf8(code, plain);
            }
            else
            {
                plain += text[i];
                continue;
            }
            i += end;
        }
        return plain;
    }

    static void AppendUtf8(uint32_t code, std::string& text)
    {
        if (code < 0x80)
        {
            text += static_cast<char>(code);
            return;
        }
        const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        constexpr std::array<uint32_t, 4> kLead{0, 0xC0, 0xE0, 0xF0};
        text += static_cast<char>(kLead[more] | (code >> (6 * more)));
        for (int i = more - 1; i >= 0; --i)
        {
            text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
        }
    }

    /// Returns the token, which must be a key.
    std::string Key() const
    {
        if (m_kind != GmlToken::Word || std::isalpha(static_cast<unsigned char>(m_token[0])) == 0)
        {
            throw Error(At(),
                        m_kind == GmlToken::End ? "the end of the file" : Shown(m_token),
                        "a key, or ']' at the end of a list");
        }
        return m_token;
    }

    void Enter(const std::string& key)
    {
        if (Advance() != GmlToken::Open)
        {
            throw Error(At() + ": " + Shown(key),
                        m_kind == GmlToken::End ? "the end of the file" : Shown(m_token),
                        "a list in brackets");
        }
    }

    /// Reads the value of a key: its text, or an empty one for a list, which is skipped.
    std::string Value(const std::string& key)
    {
        switch (Advance())
        {
        case GmlToken::Word:
        case GmlToken::Text:
            return m_token;
        case GmlToken::Open:
            break;
        case GmlToken::Close:
        case GmlToken::End:
            throw Error(At() + ": " + Shown(key),
                        m_kind == GmlToken::End ? "the end of the file" : "]",
                        "a value");
        }
        const int line = m_tokenLine;
        for (int64_t depth = 1; depth > 0;)
        {
            switch (Advance())
            {
            case GmlToken::Open:
                ++depth;
                break;
            case GmlToken::Close:
                --depth;
                break;
            case GmlToken::End:
                throw Error(m_path + ":" + std::to_string(line) + ": " + Shown(key),
                            "a list without its ']'",
                            "brackets that close");
            default:
                break;
            }
        }
        return "";
    }

    /// Reads a list to its end. `each` gets every key and reads its value.
    template <typename Each>
    void ReadList(const char* name, int line, Each each)
    {
        while (Advance() != GmlToken::Close)
        {
            if (m_kind == GmlToken::End)
            {
                throw Error(m_path + ":" + std::to_string(line) + ": " + name,
                            "a list without its ']'",
                            "brackets that close");
            }
            each(Key());
        }
    }

    void ReadGraph()
    {
        ReadList("graph",
                 m_tokenLine,
                 [this](const std::string& key)
                 {
                     if (key == "node")
                     {
                         ReadNode();
                     }
                     else if (key == "edge")
                     {
                         ReadEdge();
                     }
                     else if (key == "directed")
                     {
                         const std::string value = Value(key);
                         if (value != "0" && value != "1")
                         {
                             throw Error(At() + ": directed", Shown(value), "0, 1");
                         }
                         m_directed = value == "1";
                     }
                     else
                     {
                         m_graph.own.values.emplace(key, Value(key));
                     }
                 });
    }

    /// Reads the values of a node or an edge. Some writers express a list by repeating its key.
    RawAttributes ReadValues(const char* name)
    {
        RawAttributes read;
        read.line = m_tokenLine;
        Enter(name);
        ReadList(name,
                 m_tokenLine,
                 [&](const std::string& key)
                 {
                     const std::string value = Value(key);
                     const bool list = m_kind == GmlToken::Close;
                     const auto [entry, added] = read.values.emplace(key, value);
                     if (list || !added)
                     {
                         read.several.insert(key);
                         entry->second = value;
                     }
                 });
        return read;
    }

    std::string Need(RawAttributes& read, const char* key, const char* of, int line)
    {
        if (read.several.count(key) > 0)
        {
            throw Error(
                m_path + ":" + std::to_string(line) + ": " + key + " of " + of, "several", "one");
        }
        auto node = read.values.extract(key);
        if (node.empty() || node.mapped().empty())
        {
            throw Error(
                m_path + ":" + std::to_string(line) + ": " + key + " of " + of, "none", "one");
        }
        return std::move(node.mapped());
    }

    void ReadNode()
    {
        RawGraph::Node node;
        static_cast<RawAttributes&>(node) = ReadValues("node");
        node.id = Need(node, "id", "a node", node.line);
        m_graph.nodes.push_back(std::move(node));
    }

    void ReadEdge()
    {
        RawGraph::Edge edge;
        static_cast<RawAttributes&>(edge) = ReadValues("edge");
        edge.source = Need(edge, "source", "an edge", edge.line);
        edge.target = Need(edge, "target", "an edge", edge.line);
        m_graph.edges.push_back(std::move(edge));
    }

    std::string m_path;
    std::string m_text;
    size_t m_at = 0;
    int m_line = 1;
    GmlToken m_kind = GmlToken::End;
    std::string m_token;
    int m_tokenLine = 1;
    bool m_directed = false;
    RawGraph m_graph;
};

} // namespace

RawGraph ReadRawGml(const std::string& path)
{
    return GmlFile(path).Read();
}

} // namespace legacy::fabric
