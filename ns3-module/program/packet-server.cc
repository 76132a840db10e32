/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-server.h"

#include "base/error.h"
#include "fabric/engine/dead-link.h"
#include "fabric/step/step.h"

#include <chrono>
#include <utility>

namespace legacy
{
namespace packet
{

using wire::Frame;
using wire::Got;
using wire::Kind;

namespace
{

/// The user is gone in the middle of a callback.
struct UserGone
{
};

/// How often traced flows, and signs of life, leave while the engine runs.
constexpr std::chrono::milliseconds kNewsEvery{100};
constexpr int kAliveEvery = 10; ///< of these

fabric::PacketOutputs OutputsOf(const wire::Files& files)
{
    return {files.pcap, files.flowMonitor, files.netAnim, std::make_shared<std::string>()};
}

} // namespace

/// A UserGraph is a graph whose callbacks the user answers.
class PacketServer::UserGraph : public fabric::FlowGraph
{
  public:
    UserGraph(PacketServer& server, uint64_t number) : m_server(server), m_number(number)
    {
    }

    void OnStart(fabric::FlowSink& sink) override
    {
        Call({m_number, wire::Callback::Start, sink.Now(), {}, 0}, sink);
    }

    void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override
    {
        Call({m_number, wire::Callback::Delivered, sink.Now(), flow, 0}, sink);
    }

    void OnWake(uint64_t token, fabric::FlowSink& sink) override
    {
        Call({m_number, wire::Callback::Wake, sink.Now(), {}, token}, sink);
    }

    void OnFailed(const fabric::Flow& flow, fabric::FlowSink& sink) override
    {
        Call({m_number, wire::Callback::Failed, sink.Now(), flow, 0}, sink);
    }

    void OnContinue(fabric::FlowSink& sink) override
    {
        Call({m_number, wire::Callback::Continue, sink.Now(), {}, 0}, sink);
    }

    bool Done() const override
    {
        return m_done;
    }

  private:
    void Call(const wire::Call& call, fabric::FlowSink& sink)
    {
        m_done = m_server.CallBack(call, sink);
    }

    PacketServer& m_server;
    const uint64_t m_number;
    bool m_done = false;
};

PacketServer::PacketServer(int in, int out)
    : m_reader(in),
      m_writer(out),
      m_alive(
          [this](const std::stop_token& stop)
          {
              for (int i = 0; !stop.stop_requested(); i = (i + 1) % kAliveEvery)
              {
                  std::this_thread::sleep_for(kNewsEvery);
                  if (!m_running)
                  {
                      continue;
                  }
                  try
                  {
                      if (i == 0)
                      {
                          m_writer.Write(Kind::Alive);
                      }
                      m_writer.Flush();
                  }
                  catch (const Error&)
                  {
                      return; // the other thread finds that the user is gone
                  }
              }
          })
{
}

PacketServer::~PacketServer() = default;

void PacketServer::Serve()
{
    Frame frame;
    try
    {
        while (m_reader.Next(-1, frame) != Got::End)
        {
            try
            {
                Handle(frame);
            }
            catch (const fabric::DeadLink& dead)
            {
                m_running = false;
                m_writer.Write(Kind::Failure,
                               wire::Failure{dead.what(),
                                             dead.IsRefusal(),
                                             std::pair(dead.Source(), dead.Destination())});
            }
            catch (const Error& error)
            {
                m_running = false;
                m_writer.Write(Kind::Failure,
                               wire::Failure{error.what(), error.IsRefusal(), std::nullopt});
            }
            m_writer.Flush();
        }
    }
    catch (const UserGone&)
    {
    }
    End();
}

void PacketServer::Handle(const Frame& frame)
{
    switch (frame.kind)
    {
    case Kind::Hello:
        return Greet(frame);
    case Kind::CheckFiles:
        fabric::CheckPacketOutputs(OutputsOf(frame.As<wire::Files>()));
        return m_writer.Write(Kind::Done);
    case Kind::Network:
    {
        End();
        const auto value = frame.As<wire::NetworkValue>();
        m_topology.emplace(wire::TopologyOf(value));
        m_placement = value.placement;
        return m_writer.Write(Kind::Done);
    }
    case Kind::EngineOrder:
        return MakeEngine(frame.As<wire::EngineOrder>());
    case Kind::Submission:
        return Submit(frame.As<wire::Submission>());
    case Kind::Run:
        return Run(frame.As<TimeNs>());
    case Kind::TraceFlows:
        Running().SetFlowTrace(
            [this](const fabric::Flow& flow, TimeNs when, bool delivered)
            {
                const fabric::RoceFlow* const roce = delivered ? m_engine->Delivered() : nullptr;
                m_writer.Write(
                    Kind::FlowNews,
                    wire::FlowNews{
                        flow, when, delivered, roce ? std::optional(*roce) : std::nullopt});
            });
        return m_writer.Write(Kind::Done);
    case Kind::Counters:
        return m_writer.Write(Kind::Counters, Running().Counters());
    case Kind::Links:
        return m_writer.Write(Kind::Links, Running().Links());
    case Kind::Activity:
        return m_writer.Write(Kind::Activity, Running().Activity());
    case Kind::Roce:
        return m_writer.Write(Kind::Roce, Running().Roce());
    case Kind::Timing:
        return WriteTiming(frame.As<uint64_t>());
    case Kind::Save:
        return m_writer.Write(Kind::Save, Running().Save());
    case Kind::Restore:
        Running().Restore(frame.As<std::string>());
        return m_writer.Write(Kind::Restore, Running().Now());
    case Kind::ScheduleTime:
        Running().SetScheduleTime(frame.As<TimeNs>());
        return m_writer.Write(Kind::Done);
    case Kind::End:
        End();
        return m_writer.Write(Kind::End, *m_outputs.lost);
    default:
        throw Error("kind of a frame",
                    std::to_string(static_cast<int>(frame.kind)),
                    "those of a user, in the order of the protocol");
    }
}

void PacketServer::Greet(const Frame& frame)
{
    // A later version may say more, so only the version is read.
    const uint64_t version = StateReader(frame.body).Number();
    if (version != wire::kVersion)
    {
        throw Error("version of the protocol with legacy-packet " LEGACY_VERSION,
                    std::to_string(version),
                    std::to_string(wire::kVersion));
    }
    m_writer.Write(
        Kind::Hello,
        wire::Hello{wire::kVersion, "legacy-packet " LEGACY_VERSION, LEGACY_NS3_VERSION});
}

void PacketServer::MakeEngine(const wire::EngineOrder& order)
{
    End();
    if (!m_topology)
    {
        throw Error("engine: no network was given before it");
    }
    fabric::EngineRequest request;
    request.topology = &*m_topology;
    request.placement = &m_placement;
    request.transport = order.transport;
    if (order.roce)
    {
        request.transport.roce = std::make_shared<const fabric::RoceSettings>(*order.roce);
    }
    request.seed = order.seed;
    request.run = order.run;
    m_outputs = OutputsOf(order.files);
    m_engine = fabric::MakeNumberedPacketEngine(request, m_outputs, order.number);
    m_writer.Write(Kind::EngineFacts,
                   wire::EngineFacts{m_engine->Random(),
                                     m_engine->DependsOnTime(),
                                     m_engine->StartsWarm(),
                                     m_engine->Fingerprint()});
}

void PacketServer::Submit(const wire::Submission& submission)
{
    fabric::FlowGraph* graph = nullptr;
    if (m_steps.count(submission.graph) + m_userGraphs.count(submission.graph) > 0)
    {
        throw Error("graph", std::to_string(submission.graph), "a number that no other graph has");
    }
    if (submission.step)
    {
        graph = (m_steps[submission.graph] = std::make_unique<fabric::StepGraph>(*submission.step))
                    .get();
    }
    else
    {
        graph =
            (m_userGraphs[submission.graph] = std::make_unique<UserGraph>(*this, submission.graph))
                .get();
    }
    submission.background ? Running().SubmitBackground(*graph, submission.start)
                          : Running().Submit(*graph, submission.start);
    m_writer.Write(Kind::Done);
}

void PacketServer::Run(TimeNs until)
{
    fabric::Engine& engine = Running();
    m_running = true;
    const bool done = engine.RunUntil(until);
    m_running = false;
    wire::Ran ran = {done, engine.Now(), {}};
    for (const auto& [number, step] : m_steps)
    {
        if (step->Done())
        {
            ran.ended.push_back(number);
        }
    }
    m_writer.Write(Kind::Ran, ran);
}

void PacketServer::End()
{
    m_running = false;
    m_engine.reset();
    m_userGraphs.clear();
    m_steps.clear();
}

fabric::Engine& PacketServer::Running()
{
    if (!m_engine)
    {
        throw Error("engine: none was asked for");
    }
    return *m_engine;
}

bool PacketServer::CallBack(const wire::Call& call, fabric::FlowSink& sink)
{
    m_writer.Write(Kind::Call, call);
    m_writer.Flush();
    const auto carryOut = [&](const std::vector<wire::Command>& commands)
    {
        for (const wire::Command& command : commands)
        {
            switch (command.what)
            {
            case wire::Command::What::Send:
                sink.Send(command.flow);
                break;
            case wire::Command::What::Wake:
                sink.Wake(command.delay, command.token);
                break;
            case wire::Command::What::Pause:
                sink.Pause();
                break;
            }
        }
    };
    Frame frame;
    while (m_reader.Next(-1, frame) != Got::End)
    {
        if (frame.kind == Kind::Answer)
        {
            const auto answer = frame.As<wire::Answer>();
            carryOut(answer.commands);
            return answer.done;
        }
        if (frame.kind == Kind::Abort)
        {
            const auto abort = frame.As<wire::Abort>();
            carryOut(abort.commands);
            m_writer.Write(Kind::Aborted, sink.Abort(abort.flow));
            m_writer.Flush();
        }
        else if (frame.kind != Kind::Alive)
        {
            throw Error("frame in a callback",
                        std::to_string(static_cast<int>(frame.kind)),
                        "an answer, or the withdrawal of a flow");
        }
    }
    throw UserGone();
}

void PacketServer::WriteTiming(uint64_t graph)
{
    const auto found = m_steps.find(graph);
    if (found == m_steps.end() || !found->second->Done())
    {
        throw Error("timing of graph", std::to_string(graph), "a step that is done");
    }
    m_writer.Write(Kind::Timing, found->second->Timing());
    m_steps.erase(found);
}

} // namespace packet
} // namespace legacy
