// Reader of SNDlib's XML format.
#include "base/error.h"
#include "base/words.h"
#include "sndlib.h"
#include "xml.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace legacy::fabric
{

namespace
{

constexpr double kMostXmlValue = 1e15;

class SndlibXmlFile
{
  public:
    SndlibXmlFile(const std::string& path, int64_t unitBps) : m_file(path), m_network(path, unitBps)
    {
    }

    NetworkMap Read()
    {
        const pugi::xml_node root = m_file.Root("network");
        if (const pugi::xml_node unit = root.child("meta").child("unit"))
        {
            m_network.SetUnit(OneLine(unit.child_value()), m_file.At(unit));
        }
        const pugi::xml_node structure = Child(root, "networkStructure");
        const pugi::xml_node nodes = Child(structure, "nodes");
        const std::string type = nodes.attribute("coordinatesType").as_string("geographical");
        if (type != "geographical" && type != "pixel")
        {
            throw Error(m_file.At(nodes) + ": coordinatesType", Shown(type), "geographical, pixel");
        }
        for (const pugi::xml_node node : nodes.children("node"))
        {
            const pugi::xml_node place = Child(node, "coordinates");
            SkipOthers(node, {"coordinates"}, "nodes");
            m_network.AddNode(Id(node),
                              Real(Child(place, "x"), -1e9),
                              Real(Child(place, "y"), -1e9),
                              type == "geographical",
                              m_file.Line(node));
        }
        for (const pugi::xml_node link : Child(structure, "links").children("link"))
        {
            ReadLink(link);
        }
        for (const pugi::xml_node demand : root.child("demands").children("demand"))
        {
            const pugi::xml_node unit = demand.child("routingUnit");
            SkipOthers(demand, {"source", "target", "demandValue", "routingUnit"}, "demands");
            m_network.AddDemand(Text(Child(demand, "source")),
                                Text(Child(demand, "target")),
                                Real(Child(demand, "demandValue"), 0) * (unit ? Real(unit, 0) : 1),
                                m_file.At(demand));
        }
        return m_network.Finish();
    }

  private:
    pugi::xml_node Child(pugi::xml_node node, const char* name) const
    {
        const pugi::xml_node child = node.child(name);
        if (!child)
        {
            throw Error(m_file.At(node) + ": " + name + " of " + Shown(node.name()), "none", "one");
        }
        return child;
    }

    static std::string Text(pugi::xml_node node)
    {
        return OneLine(node.child_value());
    }

    std::string Id(pugi::xml_node node) const
    {
        const std::string id = OneLine(node.attribute("id").value());
        if (id.empty())
        {
            throw Error(m_file.At(node) + ": id of a " + Shown(node.name()), "none", "one");
        }
        return id;
    }

    double Real(pugi::xml_node node, double minimum) const
    {
        return ParseReal(
            Text(node), m_file.At(node) + ": " + Shown(node.name()), minimum, kMostXmlValue);
    }

    void
    SkipOthers(pugi::xml_node node, std::initializer_list<std::string_view> known, const char* of)
    {
        for (const pugi::xml_node child : node.children())
        {
            const bool used = std::find(known.begin(), known.end(), child.name()) != known.end();
            m_network.Skip(of, Shown(child.name()), !used && child.type() == pugi::node_element);
        }
    }

    void ReadLink(pugi::xml_node link)
    {
        double installed = 0;
        if (const pugi::xml_node module = link.child("preInstalledModule"))
        {
            installed = Real(Child(module, "capacity"), 0);
            SkipOthers(module, {"capacity"}, "links");
        }
        std::vector<double> modules;
        for (const pugi::xml_node module : link.child("additionalModules").children("addModule"))
        {
            modules.push_back(Real(Child(module, "capacity"), 0));
            SkipOthers(module, {"capacity"}, "links");
        }
        SkipOthers(link, {"source", "target", "preInstalledModule", "additionalModules"}, "links");
        m_network.AddLine(Text(Child(link, "source")),
                          Text(Child(link, "target")),
                          installed,
                          modules,
                          m_file.At(link),
                          m_file.Line(link));
    }

    XmlFile m_file;
    SndlibNetwork m_network;
};

} // namespace

NetworkMap ReadSndlibXml(const std::string& path, int64_t unitBps)
{
    return SndlibXmlFile(path, unitBps).Read();
}

} // namespace legacy::fabric
