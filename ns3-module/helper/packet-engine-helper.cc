/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-engine-helper.h"

#include "carriers.h"
#include "packet-outputs.h"
#include "roce-capture.h"
#include "segment-capture.h"
#include "simulation-scope.h"
#include "simulator-lease.h"

#include "base/error.h"
#include "model/packet-engine.h"
#include "model/packet-network.h"

#include <memory>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

namespace legacy
{
namespace packet
{

namespace
{

using fabric::EngineRequest;

/// The number of duplicate ACKs that mean a loss where every packet takes its own path. The three
/// of ns-3 and RFC 5681 mistake reordering for loss: a ring all-reduce of 2 MB among 16 hosts of a
/// k=4 fat-tree at 10 Gbit/s, placed at random, then takes 4.21 ms and sends 6 % of its data again,
/// against 3.67 ms and 0.1 %. Linux learns the degree of reordering of each connection, up to 300
/// (tcp_max_reordering).
constexpr const char* kSprayedDuplicateAcks = "100";

/// The captured bytes of a packet: the headers of PPP, IPv4 and TCP with all options. The payload
/// is zeros.
constexpr const char* kCaptureBytes = "128";

/// Throws Error if records are requested that ns-3 makes of its own packets.
void RefuseOutputs(const fabric::PacketOutputs& outputs, const fabric::Transport& transport)
{
    for (const auto& [what, file, instead] :
         {std::tuple{"FlowMonitor file", outputs.flowMonitorXml, "--fct says what flows did"},
          std::tuple{"NetAnim file", outputs.netAnimXml, "--pcap has the frames of hosts"}})
    {
        if (!file.empty())
        {
            throw Error(what,
                        file,
                        std::string("nothing beside frames that are no packets of ns-3; ") +
                            (transport.roce
                                 ? ""
                                 : "--transport=ns3:" + transport.preset + " has these, and ") +
                            instead);
        }
    }
}

/// Returns the transport with the attributes that follow from the rest of the request. The user's
/// attributes win.
fabric::Transport Complete(const EngineRequest& request, const fabric::PacketOutputs& outputs)
{
    fabric::Transport transport = request.transport;
    if (transport.skip != fabric::Skip::None && !outputs.pcapPrefix.empty())
    {
        throw Error("pcap prefix", outputs.pcapPrefix, "nothing beside packets that are skipped");
    }
    if (transport.HasFrames())
    {
        RefuseOutputs(outputs, transport);
        return transport;
    }
    if (!outputs.pcapPrefix.empty())
    {
        transport.attributes.emplace("ns3::PcapFileWrapper::CaptureSize", kCaptureBytes);
    }
    if (request.topology->GetMultipath() == fabric::Multipath::Spray)
    {
        transport.attributes.emplace("ns3::TcpSocketBase::ReTxThreshold", kSprayedDuplicateAcks);
    }
    return transport;
}

/// An OwningEngine is a fabric::Engine over a PacketEngine, and owns the process's simulator.
class OwningEngine final : public fabric::Engine
{
  public:
    OwningEngine(const EngineRequest& request, const fabric::PacketOutputs& outputs)
        : m_lease(request.transport.HasFrames()),
          m_fingerprint("packet 1 " + request.transport.Fingerprint()),
          m_transport(Complete(request, outputs)),
          m_scope(m_transport, request.seed, request.run),
          m_files(outputs),
          m_engine(ns3::CreateObject<PacketEngine>())
    {
        Carrier* made = nullptr;
        const PacketEngine::CarrierFactory make =
            CarrierFor(request.topology, request.placement, m_transport, request.seed, request.run);
        m_engine->Build(request.topology,
                        request.placement,
                        m_transport,
                        [&](CarrierListener* listener)
                        {
                            std::unique_ptr<Carrier> carrier = make(listener);
                            made = carrier.get();
                            return carrier;
                        });
        if (m_engine->GetNetwork())
        {
            m_outputs.emplace(
                outputs, m_engine->GetNetwork(), *request.topology, *request.placement);
        }
        else if (!outputs.pcapPrefix.empty())
        {
            Capture(outputs.pcapPrefix, request, *made);
        }
    }

    ~OwningEngine() override
    {
        m_outputs.reset();
        if (m_capture)
        {
            const std::string lost = m_capture->Close();
            if (!lost.empty())
            {
                NoteLost(m_files, lost);
            }
        }
        m_capture.reset();
        m_engine->Dispose();
    }

    std::string Name() const override
    {
        return "packet";
    }

    bool Random() const override
    {
        return m_engine->IsRandom();
    }

    bool StartsWarm() const override
    {
        return m_engine->StartsWarm();
    }

    bool DependsOnTime() const override
    {
        return m_engine->DependsOnTime();
    }

    std::string Fingerprint() const override
    {
        return m_fingerprint;
    }

    void Submit(fabric::FlowGraph& graph, TimeNs start) override
    {
        m_engine->Submit(graph, start);
    }

    void SubmitBackground(fabric::FlowGraph& graph, TimeNs start) override
    {
        m_engine->Submit(graph, start, true);
    }

    void SetScheduleTime(TimeNs time) override
    {
        m_engine->SetScheduleTime(time);
    }

    bool RunUntil(TimeNs until) override
    {
        return m_engine->RunUntil(until);
    }

    TimeNs Now() const override
    {
        return PacketEngine::Now();
    }

    fabric::EngineCounters Counters() const override
    {
        return m_engine->GetCounters();
    }

    std::vector<fabric::LinkCounters> Links() const override
    {
        return m_engine->GetLinks();
    }

    std::vector<fabric::LinkActivity> Activity() const override
    {
        return m_engine->GetActivity();
    }

    fabric::RoceActivity Roce() const override
    {
        return m_engine->GetRoce();
    }

    const fabric::RoceFlow* Delivered() const override
    {
        return m_engine->GetDelivered();
    }

    void SetFlowTrace(fabric::FlowTrace trace) override
    {
        m_engine->SetFlowTrace(std::move(trace));
    }

    std::string Save() const override
    {
        return "packet 1 " + std::to_string(Now()) + " " + std::to_string(m_engine->GetDraws());
    }

    void Restore(const std::string& state) override
    {
        std::istringstream in(state);
        std::string name;
        int version = 0;
        TimeNs now = 0;
        uint64_t draws = 0;
        if (!(in >> name >> version >> now >> draws) || name != "packet" || version != 1 ||
            now < Now() || !(in >> std::ws).eof())
        {
            throw Error("state of a packet engine",
                        state,
                        "'packet 1 NOW DRAWS', as Save wrote it, on a fresh engine");
        }
        m_engine->Restore(now, draws);
    }

  private:
    void Capture(const std::string& prefix, const EngineRequest& request, Carrier& carrier)
    {
        const fabric::Topology& topology = *request.topology;
        const fabric::Placement& placement = *request.placement;
        try
        {
            if (m_transport.roce)
            {
                m_capture = std::make_unique<RoceCapture>(prefix,
                                                          topology,
                                                          placement,
                                                          *m_transport.roce,
                                                          dynamic_cast<RoceCarrier&>(carrier));
                return;
            }
            m_capture = std::make_unique<SegmentCapture>(
                prefix, topology, placement, dynamic_cast<SegmentCarrier&>(carrier));
        }
        catch (...)
        {
            m_engine->Dispose();
            throw;
        }
    }

    SimulatorLease m_lease;        //!< made first, destroyed last
    std::string m_fingerprint;     //!< fingerprint of the requested transport
    fabric::Transport m_transport; //!< requested transport, completed
    SimulationScope m_scope;       //!< defaults that sockets read while the simulation runs
    fabric::PacketOutputs m_files; //!< requested files
    ns3::Ptr<PacketEngine> m_engine;
    std::optional<OutputWriter> m_outputs;   //!< records of the simulation
    std::unique_ptr<FrameCapture> m_capture; //!< records of frames
};

} // namespace

} // namespace packet

namespace fabric
{

std::unique_ptr<Engine> MakePacketEngine(const EngineRequest& request)
{
    return std::make_unique<packet::OwningEngine>(request, PacketOutputs{});
}

EngineFactory MakePacketEngineFactory(const PacketOutputs& outputs)
{
    CheckPacketOutputs(outputs);
    return [outputs, engines = std::make_shared<int>(0)](const EngineRequest& request)
    { return MakeNumberedPacketEngine(request, outputs, ++*engines); };
}

void CheckPacketOutputs(const PacketOutputs& outputs)
{
    packet::CheckOutputs(outputs);
}

std::unique_ptr<Engine>
MakeNumberedPacketEngine(const EngineRequest& request, const PacketOutputs& outputs, int number)
{
    return std::make_unique<packet::OwningEngine>(request, packet::NumberOutputs(outputs, number));
}

} // namespace fabric
} // namespace legacy
