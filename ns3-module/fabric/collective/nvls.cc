// All-reduce that the switches of nodes sum, as NCCL's NVLS and, between nodes, NVLSTree do.
//
// Every worker, including the piece's head, sends its piece to the switch of its node, and the
// switch sends the sum to the head (multimem.ld_reduce). Nodes with several switches use all of
// them, each for its own pieces. The heads of all nodes sum the piece up a binary tree over the
// nodes, and spread the sum down again. Each head stores the sum in the switch, which copies it to
// all workers of the node (multimem.st). A worker in a node of G therefore sends and receives (1 +
// 1/G) M over the switch. Switches compute in no time and have room for everything that waits. A
// worker's first pieces of all streams leave first, then the second ones, and at most four of them
// are on their way to each switch, so that what it stores as a head does not queue behind them. At
// most four pieces of a stream are on their way from a head up its tree.
#include "algorithms.h"
#include "nvls-plan.h"
#include "passing.h"

namespace legacy::fabric
{

namespace
{

class Nvls : public PassingCollective
{
  public:
    Nvls(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : PassingCollective(spec,
                            tagBase,
                            std::move(done),
                            CostsOf(ProtocolFamily::Nvls, spec.protocol)),
          m_plan(spec),
          m_ahead(spec.protocol == Protocol::None ? kPiecesAhead : kBufferSteps),
          m_switches(spec.parents),
          m_senders(m_workers),
          m_complete(m_workers, 0)
    {
        for (int number = 0; number < m_plan.Streams(); ++number)
        {
            m_streams.emplace_back(m_plan, number, m_workers);
            m_most = std::max(m_most, m_streams.back().pieces.count);
        }
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        Stream& stream = m_streams[mark >> kStreamShift];
        switch (static_cast<Way>(mark & kWayBits))
        {
        case Way::ToSwitch:
            TakeAtSwitch(stream, flow.source, sink);
            return;
        case Way::ToHead:
            ++stream.nodes[m_plan.NodeOf(flow.destination)].summed;
            Climb(stream, m_plan.NodeOf(flow.destination), sink);
            return;
        case Way::Up:
        {
            const int child = m_plan.NodeOf(flow.source);
            --stream.nodes[child].inFlight;
            Climb(stream, child, sink);
            ++stream.nodes[child].arrived;
            Climb(stream, m_plan.NodeOf(flow.destination), sink);
            return;
        }
        case Way::Down:
            Spread(stream, m_plan.NodeOf(flow.destination), sink);
            return;
        case Way::Stored:
            Copy(stream, m_plan.NodeOf(flow.source), sink);
            return;
        case Way::Copied:
            Keep(stream, flow.destination, sink);
            return;
        }
    }

  private:
    enum class Way : uint8_t
    {
        ToSwitch, ///< a worker's piece
        ToHead,   ///< the sum of the node
        Up,       ///< a sum, from head to head
        Down,
        Stored, ///< the complete sum, from a head to its switch
        Copied, ///< the complete sum, from the switch to each worker
    };

    static constexpr int kStreamShift = 3;
    static constexpr uint64_t kWayBits = (1 << kStreamShift) - 1;
    static constexpr int kPiecesAhead = 4; ///< of a worker to a switch, or up without a protocol

    /// The progress of a worker's pieces to its switch.
    struct Sender
    {
        int64_t next = 0; ///< number of its next piece, counted over all streams
        int inFlight = 0;
    };

    /// The pieces of a worker in one stream.
    struct Member
    {
        int64_t arrived = 0; ///< number of pieces that are at the switch
        int64_t kept = 0;    ///< number of pieces of the complete sum that it has
    };

    /// The pieces of a node in one stream.
    struct Node
    {
        int waiting = 0;      ///< number of workers whose piece the switch waits for
        int64_t atSwitch = 0; ///< number of pieces that the switch has summed
        int64_t summed = 0;   ///< number of those that the head has
        int64_t sent = 0;     ///< number of pieces that the head sent up; at the root: completed
        int64_t arrived = 0;  ///< number of those that have arrived
        int64_t spread = 0;   ///< number of pieces of the complete sum that the head passed on
        int64_t copied = 0;   ///< number of those that the switch copied
        int inFlight = 0;     ///< number of pieces in flight upwards
    };

    struct Stream
    {
        Stream(const NvlsPlan& plan, int itsNumber, int workers)
            : number(itsNumber),
              tree(plan.TreeOf(itsNumber)),
              pieces(plan.PiecesOf(itsNumber)),
              members(workers),
              nodes(plan.Nodes())
        {
            for (int node = 0; node < plan.Nodes(); ++node)
            {
                nodes[node].waiting = plan.SizeOf(node);
            }
        }

        int number;
        BinaryTree tree;
        Pieces pieces;
        std::vector<Member> members; ///< by worker
        std::vector<Node> nodes;
    };

    void Begin(int worker, FlowSink& sink) override
    {
        const int node = m_plan.NodeOf(worker);
        if (m_plan.SizeOf(node) > 1)
        {
            SendToSwitch(worker, sink);
            return;
        }
        for (Stream& stream : m_streams)
        {
            stream.nodes[node].summed = stream.pieces.count;
            Climb(stream, node, sink);
        }
    }

    /// Sends the pieces that the worker may send, one of each stream before the next of any.
    void SendToSwitch(int worker, FlowSink& sink)
    {
        Sender& sender = m_senders[worker];
        const int64_t all = m_most * m_plan.Streams();
        const int most = kPiecesAhead * m_plan.Planes();
        for (; sender.next < all && sender.inFlight < most; ++sender.next)
        {
            const Stream& stream = m_streams[sender.next % m_plan.Streams()];
            const int64_t piece = sender.next / m_plan.Streams();
            if (piece < stream.pieces.count) // streams may differ by one piece
            {
                ++sender.inFlight;
                SendInside(stream, worker, SwitchOf(stream, worker), piece, Way::ToSwitch, sink);
            }
        }
    }

    /// Called when a piece has come in at the switch. Pieces arrive in order, so it can complete a
    /// sum only if it is the oldest missing one.
    void TakeAtSwitch(Stream& stream, int worker, FlowSink& sink)
    {
        const int64_t piece = stream.members[worker].arrived++;
        --m_senders[worker].inFlight;
        SendToSwitch(worker, sink);
        const int number = m_plan.NodeOf(worker);
        Node& node = stream.nodes[number];
        if (piece != node.atSwitch || --node.waiting > 0)
        {
            return;
        }
        const int head = m_plan.HeadOf(stream.number, number);
        while (node.waiting == 0 && node.atSwitch < stream.pieces.count)
        {
            SendInside(stream, SwitchOf(stream, head), head, node.atSwitch++, Way::ToHead, sink);
            for (int i = 0; i < m_plan.SizeOf(number); ++i)
            {
                const Member& member = stream.members[m_plan.FirstOf(number) + i];
                node.waiting += member.arrived <= node.atSwitch ? 1 : 0;
            }
        }
    }

    /// Sums what the head and all its children have, and sends the sums up.
    void Climb(Stream& stream, int number, FlowSink& sink)
    {
        Node& node = stream.nodes[number];
        int64_t ready = node.summed;
        for (int side : {0, 1})
        {
            if (const int child = stream.tree.Child(number, side); child != BinaryTree::kNone)
            {
                ready = std::min(ready, stream.nodes[child].arrived);
            }
        }
        const int parent = stream.tree.Parent(number);
        while (node.sent < ready && node.inFlight < m_ahead)
        {
            const int64_t piece = node.sent++;
            if (parent == BinaryTree::kNone)
            {
                Spread(stream, number, sink);
                continue;
            }
            ++node.inFlight;
            SendAcross(stream, number, parent, piece, Way::Up, sink);
        }
    }

    /// Passes the next piece of the complete sum down the tree, and to the node's switch.
    void Spread(Stream& stream, int number, FlowSink& sink)
    {
        const int64_t piece = stream.nodes[number].spread++;
        Handling handling = Handling::Stream;
        for (int side : {0, 1})
        {
            if (const int child = stream.tree.Child(number, side); child != BinaryTree::kNone)
            {
                SendAcross(stream, number, child, piece, Way::Down, sink, handling);
                handling = Handling::Copy;
            }
        }
        const int head = m_plan.HeadOf(stream.number, number);
        if (m_plan.SizeOf(number) == 1)
        {
            Keep(stream, head, sink);
            return;
        }
        SendInside(stream, head, SwitchOf(stream, head), piece, Way::Stored, sink);
    }

    void Copy(Stream& stream, int number, FlowSink& sink)
    {
        const int64_t piece = stream.nodes[number].copied++;
        for (int i = 0; i < m_plan.SizeOf(number); ++i)
        {
            const int worker = m_plan.FirstOf(number) + i;
            SendInside(stream, SwitchOf(stream, worker), worker, piece, Way::Copied, sink);
        }
    }

    void Keep(Stream& stream, int worker, FlowSink& sink)
    {
        if (++stream.members[worker].kept == stream.pieces.count &&
            ++m_complete[worker] == m_plan.Streams())
        {
            Finish(worker, sink);
        }
    }

    /// Returns the endpoint of the worker's switch that sums the stream.
    int SwitchOf(const Stream& stream, int worker) const
    {
        return m_switches[m_plan.PlaneOf(stream.number) * m_workers + worker];
    }

    Flow
    FlowFor(const Stream& stream, int from, int to, int64_t bytes, int64_t piece, Way way) const
    {
        const uint64_t mark =
            static_cast<uint64_t>(stream.number) << kStreamShift | static_cast<uint64_t>(way);
        return FlowOf(from, to, bytes, mark, piece + 1 < stream.pieces.count);
    }

    /// Sends a piece between a worker and its switch.
    void SendInside(const Stream& stream, int from, int to, int64_t piece, Way way, FlowSink& sink)
    {
        sink.Send(FlowFor(stream, from, to, stream.pieces.Sent(piece), piece, way));
    }

    /// Sends a piece from the head of one node to that of another. Up and down are handled by
    /// threads of their own.
    void SendAcross(const Stream& stream,
                    int from,
                    int to,
                    int64_t piece,
                    Way way,
                    FlowSink& sink,
                    Handling handling = Handling::Stream)
    {
        const Flow flow = FlowFor(stream,
                                  m_plan.HeadOf(stream.number, from),
                                  m_plan.HeadOf(stream.number, to),
                                  stream.pieces.Bytes(piece),
                                  piece,
                                  way);
        Pass(flow, static_cast<uint32_t>(MarkOf(flow)), handling, sink);
    }

    const NvlsPlan m_plan;
    const int m_ahead; ///< most pieces of a stream on their way from a head up its tree
    const std::vector<int> m_switches; ///< endpoints of the switches of each plane, by worker
    std::vector<Stream> m_streams;
    std::vector<Sender> m_senders; ///< by worker
    int64_t m_most = 0;            ///< number of pieces of the longest stream
    std::vector<int> m_complete;   ///< number of streams whose sum each worker has
};

} // namespace

std::unique_ptr<Collective>
MakeNvls(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<Nvls>(spec, tagBase, std::move(done));
}

void MeterNvls(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const NvlsPlan plan(spec);
    const auto add = [&](int worker, int64_t bytes)
    {
        traffic.sent[worker] += bytes;
        traffic.received[worker] += bytes;
    };
    for (int stream = 0; stream < plan.Streams(); ++stream)
    {
        const Pieces pieces = plan.PiecesOf(stream);
        for (int node = 0; node < plan.Nodes(); ++node)
        {
            const int head = plan.HeadOf(stream, node);
            add(head, plan.NeighboursOf(stream, node) * pieces.total);
            if (plan.SizeOf(node) == 1)
            {
                continue;
            }
            // These are a worker's piece and its copy of the sum, and for the head the sum and what
            // it stores.
            for (int i = 0; i < plan.SizeOf(node); ++i)
            {
                add(plan.FirstOf(node) + i, pieces.SentInAll());
            }
            add(head, pieces.SentInAll());
        }
    }
}

} // namespace legacy::fabric
