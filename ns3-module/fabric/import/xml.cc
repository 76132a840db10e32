#include "xml.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/words.h"

#include <algorithm>
#include <string_view>

namespace legacy::fabric
{

namespace
{

/// Returns the name of the encoding in the declaration of a document, in capitals; empty: none is
/// given.
std::string EncodingOf(std::string_view text)
{
    const size_t end = text.substr(0, 5) == "<?xml" ? text.find("?>") : std::string_view::npos;
    const size_t key = text.substr(0, end == std::string_view::npos ? 0 : end).find("encoding");
    const size_t open = key == std::string_view::npos ? key : text.find_first_of("\"'", key);
    if (open == std::string_view::npos || open > end)
    {
        return "";
    }
    const size_t close = text.find(text[open], open + 1);
    std::string name(text.substr(open + 1, std::min(close, end) - open - 1));
    std::transform(name.begin(),
                   name.end(),
                   name.begin(),
                   [](unsigned char c)
                   { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
    return name;
}

std::string FromLatin1(const std::string& text)
{
    std::string utf8;
    utf8.reserve(text.size());
    for (const char c : text)
    {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80)
        {
            utf8 += c;
            continue;
        }
        utf8 += static_cast<char>(0xC0 | (byte >> 6));
        utf8 += static_cast<char>(0x80 | (byte & 0x3F));
    }
    return utf8;
}

} // namespace

XmlFile::XmlFile(const std::string& path) : m_path(path)
{
    std::string text = ReadText(path);
    if (text.rfind("\xEF\xBB\xBF", 0) == 0)
    {
        text.erase(0, 3);
    }
    const std::string encoding = EncodingOf(text);
    if (encoding == "ISO-8859-1" || encoding == "LATIN1")
    {
        text = FromLatin1(text);
    }
    else if (!(encoding.empty() || encoding == "UTF-8" || encoding == "UTF8" ||
               encoding == "US-ASCII" || encoding == "ASCII") ||
             text.rfind("\xFF\xFE", 0) == 0 || text.rfind("\xFE\xFF", 0) == 0)
    {
        throw Error(path + ":1: encoding",
                    encoding.empty() ? "UTF-16" : Shown(encoding),
                    "UTF-8, ISO-8859-1");
    }
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1))
    {
        m_lines.push_back(end);
    }
    const pugi::xml_parse_result result = m_document.load_buffer(
        text.data(), text.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
    if (!result)
    {
        const auto offset = static_cast<size_t>(std::max<ptrdiff_t>(0, result.offset));
        throw Error(path + ":" + std::to_string(LineOf(offset)) + ": " + result.description());
    }
    for (const pugi::xml_node node : m_document.children())
    {
        if (node.type() == pugi::node_doctype &&
            std::string_view(node.value()).find("<!ENTITY") != std::string_view::npos)
        {
            throw Error(path + ":" + std::to_string(LineOf(node.offset_debug())) + ": DOCTYPE",
                        "declarations of entities",
                        "none: entities are not expanded");
        }
    }
}

pugi::xml_node XmlFile::Root(const char* name) const
{
    const pugi::xml_node root = m_document.document_element();
    if (std::string_view(root.name()) != name)
    {
        throw Error(At(root) + ": the document's element", Shown(root.name()), name);
    }
    return root;
}

int XmlFile::LineOf(size_t offset) const
{
    return static_cast<int>(std::lower_bound(m_lines.begin(), m_lines.end(), offset) -
                            m_lines.begin()) +
           1;
}

int XmlFile::Line(pugi::xml_node node) const
{
    return LineOf(static_cast<size_t>(std::max<ptrdiff_t>(0, node.offset_debug())));
}

std::string XmlFile::At(pugi::xml_node node) const
{
    return m_path + ":" + std::to_string(Line(node));
}

} // namespace legacy::fabric
