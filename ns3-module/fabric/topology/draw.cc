#include "base/error.h"
#include "layout.h"
#include "report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr double kHeader = 40; ///< height above the drawing, for its title
constexpr double kFooter = 50; ///< height below the drawing, for the legend
constexpr double kLeastWidth = 320;
constexpr double kGap = 1.6; ///< distance of each direction from the line between the nodes
constexpr double kBend = 24; ///< bend of a link that would pass other nodes
constexpr int kLegendSteps = 50;
constexpr const char* kLinkColour = "#90a4ae";

std::string Fixed(double value)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.1f", value);
    return buffer;
}

std::string Price(double usdPerGb)
{
    char buffer[48];
    std::snprintf(buffer, sizeof buffer, "%g USD/GB", usdPerGb);
    return buffer;
}

std::string Point(double x, double y)
{
    return Fixed(x) + " " + Fixed(y);
}

std::string Escaped(const std::string& text)
{
    std::string escaped;
    for (char c : text)
    {
        switch (c)
        {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        default:
            // Control characters are not allowed in XML at all.
            escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
        }
    }
    return escaped;
}

std::string Label(double x, double y, const std::string& text, const std::string& attributes)
{
    return "<text x=\"" + Fixed(x) + "\" y=\"" + Fixed(y) + "\" " + attributes + ">" +
           Escaped(text) + "</text>\n";
}

/// Returns the colour of a utilisation: pale at 0, orange at a half, red at 1.
std::string Colour(double utilisation)
{
    static constexpr std::array<std::array<double, 3>, 3> kStops{
        {{207, 216, 220}, {253, 174, 97}, {183, 28, 28}}};
    const double at = utilisation > 0 ? 2 * std::min(utilisation, 1.0) : 0;
    const int first = at < 1 ? 0 : 1;
    char buffer[16];
    std::array<int, 3> mixed{};
    for (int i = 0; i < 3; ++i)
    {
        const double from = kStops[first][i];
        mixed[i] =
            static_cast<int>(std::lround(from + (kStops[first + 1][i] - from) * (at - first)));
    }
    std::snprintf(buffer, sizeof buffer, "#%02x%02x%02x", mixed[0], mixed[1], mixed[2]);
    return buffer;
}

class Painter
{
  public:
    Painter(const Topology& topology, const Drawing& drawing)
        : m_topology(topology),
          m_drawing(drawing),
          m_layout(LayOut(topology))
    {
        std::map<std::pair<int, int>, int> between;
        for (const Link& link : topology.Links())
        {
            m_lanes.push_back(between[std::minmax({link.a, link.b})]++);
        }
    }

    std::string Paint() const
    {
        const double width = std::max(m_layout.width, kLeastWidth);
        const double height =
            kHeader + m_layout.height + (m_drawing.utilisation.empty() ? 0 : kFooter);
        const std::string& title = m_drawing.title.empty() ? m_topology.Name() : m_drawing.title;
        std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                           Fixed(width) + " " + Fixed(height) + "\" width=\"" + Fixed(width) +
                           "\" height=\"" + Fixed(height) +
                           "\" font-family=\"sans-serif\" font-size=\"10\">\n"
                           "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
        text += Label(kGap * 10, 24, title, "font-size=\"15\"");
        for (size_t link = 0; link < 2 * m_topology.Links().size(); ++link)
        {
            text += Line(static_cast<DirectedLink>(link));
        }
        for (int node = 0; node < m_topology.NodeCount(); ++node)
        {
            text += Node(node);
        }
        for (int node = 0; node < m_topology.NodeCount(); ++node)
        {
            text += Name(node);
        }
        if (!m_drawing.utilisation.empty())
        {
            text += Legend(kHeader + m_layout.height);
        }
        return text + "</svg>\n";
    }

  private:
    /// Draws a direction to the right of its way, so that the two directions lie next to each
    /// other, and parallel links outside the first.
    std::string Line(DirectedLink link) const
    {
        const Position& from = m_layout.nodes[m_topology.From(link)];
        const Position& to = m_layout.nodes[m_topology.To(link)];
        const double length = std::max(1e-9, std::hypot(to.x - from.x, to.y - from.y));
        // This is the unit vector to the right of the way.
        const Position aside{-(to.y - from.y) / length, (to.x - from.x) / length};
        const double distance = kGap * (1 + 2 * m_lanes[link / 2]);
        const Position gap{distance * aside.x, distance * aside.y + kHeader};
        double bend = 0;
        if (m_layout.straight > 0 && length > m_layout.straight)
        {
            // Both directions bend to the same side.
            bend = (kBend + 0.04 * length) * (link % 2 == 0 ? -1 : 1);
        }
        const auto& utilisation = m_drawing.utilisation;
        return "<path d=\"M" + Point(from.x + gap.x, from.y + gap.y) + " Q" +
               Point((from.x + to.x) / 2 + gap.x + bend * aside.x,
                     (from.y + to.y) / 2 + gap.y + bend * aside.y) +
               " " + Point(to.x + gap.x, to.y + gap.y) + "\" fill=\"none\" stroke=\"" +
               (utilisation.empty() ? kLinkColour : Colour(utilisation[link])) +
               "\" stroke-width=\"" + (utilisation.empty() ? "1" : "2") + "\"><title>" +
               Escaped(Told(link)) + "</title></path>\n";
    }

    std::string Told(DirectedLink link) const
    {
        const Port& port = m_topology.PortOf(link);
        std::string text = m_topology.NodeName(m_topology.From(link)) + " to " +
                           m_topology.NodeName(m_topology.To(link)) + ": " +
                           FormatRate(port.rateBps) + ", " +
                           FormatTime(m_topology.LinkOf(link).delay);
        if (port.usdPerGb > 0)
        {
            text += ", " + Price(port.usdPerGb);
        }
        if (!m_drawing.bytes.empty())
        {
            text += ", " + FormatBytes(m_drawing.bytes[link]);
        }
        if (!m_drawing.utilisation.empty())
        {
            text += ", " + Fixed(100 * m_drawing.utilisation[link]) + " %";
        }
        return text;
    }

    std::string Node(int node) const
    {
        const double x = m_layout.nodes[node].x;
        const double y = m_layout.nodes[node].y + kHeader;
        const std::string title = "<title>" + Escaped(m_topology.NodeName(node)) + "</title>";
        const bool host = m_topology.IsHost(node);
        return host ? "<circle cx=\"" + Fixed(x) + "\" cy=\"" + Fixed(y) +
                          "\" r=\"5\" fill=\"#1565c0\">" + title + "</circle>\n"
                    : "<rect x=\"" + Fixed(x - 7) + "\" y=\"" + Fixed(y - 5) +
                          "\" width=\"14\" height=\"10\" rx=\"2\" fill=\"#37474f\">" + title +
                          "</rect>\n";
    }

    /// Returns the name of a node, with a white rim if links pass below it; "" if there is no room
    /// for names.
    std::string Name(int node) const
    {
        if (!m_layout.labels[node])
        {
            return "";
        }
        const double y = m_layout.nodes[node].y + kHeader;
        return Label(m_layout.nodes[node].x,
                     m_topology.IsHost(node) ? y + 17 : y - 9,
                     m_topology.NodeName(node),
                     "text-anchor=\"middle\" paint-order=\"stroke\" stroke=\"#ffffff\" "
                     "stroke-width=\"3\"");
    }

    static std::string Legend(double top)
    {
        constexpr double kLeft = 16;
        constexpr double kStep = 4;
        std::string text =
            Label(kLeft, top, "utilisation of each direction of each link", "fill=\"#37474f\"");
        for (int i = 0; i < kLegendSteps; ++i)
        {
            text += "<rect x=\"" + Fixed(kLeft + i * kStep) + "\" y=\"" + Fixed(top + 6) +
                    "\" width=\"" + Fixed(kStep + 0.5) + "\" height=\"10\" fill=\"" +
                    Colour(i / (kLegendSteps - 1.0)) + "\"/>\n";
        }
        for (int percent : {0, 50, 100})
        {
            text += Label(kLeft + percent * kLegendSteps * kStep / 100,
                          top + 28,
                          std::to_string(percent) + " %",
                          "text-anchor=\"middle\"");
        }
        return text;
    }

    const Topology& m_topology;
    const Drawing& m_drawing;
    Layout m_layout;
    std::vector<int> m_lanes; ///< number of each link among those between the same nodes
};

void CheckLength(const std::string& what, size_t given, const Topology& topology)
{
    const size_t links = 2 * topology.Links().size();
    if (given != 0 && given != links)
    {
        throw Error("drawing of " + topology.Name() + ": " + what,
                    std::to_string(given) + " values",
                    "none, or " + std::to_string(links) + ", one for each directed link");
    }
}

} // namespace

std::string DrawTopology(const Topology& topology, const Drawing& drawing)
{
    CheckLength("utilisation", drawing.utilisation.size(), topology);
    CheckLength("bytes", drawing.bytes.size(), topology);
    return Painter(topology, drawing).Paint();
}

} // namespace legacy::fabric
