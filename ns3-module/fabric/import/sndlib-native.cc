// Reader of SNDlib's native format: sections META, NODES, LINKS and DEMANDS, each of the form NAME
// ( ... ), with one item per line.
#include "base/error.h"
#include "base/files/text_file.h"
#include "base/words.h"
#include "sndlib.h"

#include <string>

namespace legacy::fabric
{

namespace
{

constexpr double kMostSndlibValue = 1e15;

class SndlibNativeFile
{
  public:
    SndlibNativeFile(const std::string& path, int64_t unitBps)
        : m_lines(path, ReadText(path), {'#'}),
          m_network(path, unitBps)
    {
    }

    NetworkMap Read()
    {
        constexpr const char* kFirst = "?SNDlib native format; type: network; version: 1.0";
        if (!m_lines.Advance() || m_lines.Word(0) != "?SNDlib")
        {
            throw Error(m_lines.Count() > 0 ? m_lines.Location(0) : m_lines.End(),
                        m_lines.Count() > 0 ? m_lines.Line() : "the end of the file",
                        kFirst);
        }
        while (m_lines.Advance())
        {
            ReadSection();
        }
        return m_network.Finish();
    }

  private:
    /// Throws Error if the words from `word` on do not match `form`: '(' and ')' stand for
    /// themselves, and any other character for any word.
    void Expect(size_t word, const char* form, const char* what) const
    {
        for (; *form != 0; ++form, ++word)
        {
            const bool here = word < m_lines.Count();
            const bool bracket = *form == '(' || *form == ')';
            if (!here || (bracket && m_lines.Word(word) != std::string(1, *form)))
            {
                throw Error(
                    m_lines.Location(here ? word : m_lines.Count() - 1), m_lines.Line(), what);
            }
        }
    }

    /// Reads a section, whose name and '(' are the words of the present line.
    void ReadSection()
    {
        const std::string name = m_lines.Word(0);
        const std::string where = m_lines.Location(0);
        Expect(1, "(", "a section such as NODES (");
        void (SndlibNativeFile::*read)() = name == "META"      ? &SndlibNativeFile::ReadMeta
                                           : name == "NODES"   ? &SndlibNativeFile::ReadNode
                                           : name == "LINKS"   ? &SndlibNativeFile::ReadLink
                                           : name == "DEMANDS" ? &SndlibNativeFile::ReadDemand
                                           : name == "ADMISSIBLE_PATHS" ? &SndlibNativeFile::Skip
                                                                        : nullptr;
        if (!read)
        {
            throw Error(
                where + ": section", Shown(name), "META, NODES, LINKS, DEMANDS, ADMISSIBLE_PATHS");
        }
        int depth = 1;
        while (depth > 0)
        {
            if (!m_lines.Advance())
            {
                throw Error(where + ": section " + name, "the end of the file", "a line with )");
            }
            if (m_lines.Count() == 1 && m_lines.Word(0) == ")")
            {
                --depth;
                continue;
            }
            // Lists of admissible paths have brackets that span several lines.
            const bool opens =
                read == &SndlibNativeFile::Skip && m_lines.Word(m_lines.Count() - 1) == "(";
            depth += opens ? 1 : 0;
            (this->*read)();
        }
    }

    void Skip()
    {
        m_network.Skip("demands", "lines of admissible paths");
    }

    void ReadMeta()
    {
        if (m_lines.Word(0) == "unit")
        {
            Expect(1, "=u", "unit = MBITPERSEC");
            m_network.SetUnit(m_lines.Word(2), m_lines.Location(2));
        }
    }

    void ReadNode()
    {
        Expect(1, "(xy)", "NAME ( LONGITUDE LATITUDE )");
        const double x = m_lines.Real(2, "longitude", -1e9, 1e9);
        const double y = m_lines.Real(3, "latitude", -1e9, 1e9);
        m_network.AddNode(m_lines.Word(0), x, y, true, static_cast<int>(m_lines.LineNumber()));
    }

    void ReadLink()
    {
        constexpr const char* kForm =
            "NAME ( SOURCE TARGET ) CAPACITY COST COST COST ( {CAPACITY COST}* )";
        constexpr size_t kModules = 10; // index of the word of the first module
        Expect(1, "(st)cccc(", kForm);
        const double installed = m_lines.Real(5, "capacity", 0, kMostSndlibValue);
        constexpr const char* kCosts[] = {"capacity cost", "routing cost", "setup cost"};
        for (size_t cost = 0; cost < 3; ++cost)
        {
            SkipCost(6 + cost, kCosts[cost]);
        }
        std::vector<double> modules;
        size_t word = kModules;
        for (; word + 1 < m_lines.Count(); word += 2)
        {
            modules.push_back(m_lines.Real(word, "capacity of a module", 0, kMostSndlibValue));
            SkipCost(word + 1, "cost of a module");
        }
        Expect(word, ")", kForm);
        m_network.AddLine(m_lines.Word(2),
                          m_lines.Word(3),
                          installed,
                          modules,
                          m_lines.Location(0),
                          static_cast<int>(m_lines.LineNumber()));
    }

    void SkipCost(size_t word, const char* name)
    {
        const double cost = m_lines.Real(word, name, -kMostSndlibValue, kMostSndlibValue);
        m_network.Skip("links", name, cost != 0 ? 1 : 0);
    }

    void ReadDemand()
    {
        Expect(1, "(st)uvp", "NAME ( SOURCE TARGET ) UNIT VALUE LONGEST");
        const double units = m_lines.Real(5, "routing unit", 0, kMostSndlibValue);
        const double value = m_lines.Real(6, "demand", 0, kMostSndlibValue);
        m_network.AddDemand(m_lines.Word(2), m_lines.Word(3), units * value, m_lines.Location(0));
        m_network.Skip("demands", "longest path", m_lines.Word(7) == "UNLIMITED" ? 0 : 1);
    }

    WordLines m_lines;
    SndlibNetwork m_network;
};

} // namespace

NetworkMap ReadSndlibNative(const std::string& path, int64_t unitBps)
{
    return SndlibNativeFile(path, unitBps).Read();
}

} // namespace legacy::fabric
