// XML that others wrote, parsed by pugixml. Entities and DTDs are never expanded: a document that
// declares entities is refused.
#pragma once

#include <cstddef>
#include <pugixml.hpp>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// An XmlFile is a parsed document that knows the line of each of its elements.
class XmlFile
{
  public:
    /// Throws Error with file and line on text that is not XML, that declares entities, or that is
    /// neither UTF-8 nor ISO-8859-1.
    explicit XmlFile(const std::string& path);

    /// Returns the document's element of that name. Throws Error where it has another one.
    pugi::xml_node Root(const char* name) const;

    /// Returns "path:line" of an element.
    std::string At(pugi::xml_node node) const;
    int Line(pugi::xml_node node) const;

  private:
    int LineOf(size_t offset) const;

    std::string m_path;
    std::vector<size_t> m_lines; ///< offsets of the lines' ends
    pugi::xml_document m_document;
};

} // namespace legacy::fabric
