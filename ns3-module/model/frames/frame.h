/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_FRAME_H
#define LEGACY_ROCE_FRAME_H

#include "fabric/roce/shared-buffer.h"
#include "fabric/roce/telemetry.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace legacy
{
namespace packet
{

using fabric::Picoseconds;

/// Kinds of frames.
enum class FrameKind : uint8_t
{
    Data,
    Ack,
    Nak, ///< also answers a frame that came ahead of others on one path, like an ACK
    Cnp,
    Pause, ///< a PFC frame, for one link
};

/// A Frame is a record of a frame of RoCEv2, TCP or PFC, without its bytes. It may also stand for a
/// train: consecutive frames of a message, or ACKs, which leave each port without a gap.
struct Frame
{
    /// Stands for no frame, and marks the end of a list.
    static constexpr uint32_t kNone = UINT32_MAX;
    /// Stands for no port.
    static constexpr uint16_t kNoPort = UINT16_MAX;

    Picoseconds at{0};   //!< arrival at its present node; an ACK: arrival of the frame it answers
    Picoseconds sent{0}; //!< start of the data frame, or of the one that an ACK or a CNP answers
    /// ACK: the time from the arrival of the frame that it answers to its own start; data: for how
    /// long the port at which it waits had been paused before.
    Picoseconds held{0};
    uint64_t psn{0};  //!< data: its first number; ACK, NAK: all below have arrived; Pause: classes
    uint32_t pair{0}; //!< queue pair
    uint32_t next{kNone}; //!< frame after it in a queue
    int32_t wire{0};      //!< bytes on the wire, with preamble and gap
    int32_t payload{0};   //!< data: payload; ACK: wire bytes of the frame it answers; Pause: quanta
    uint32_t records{kNone}; //!< telemetry
    /// RoCEv2, ACK and NAK: the frame it answers is psn + ahead, data: 0 if sent again; TCP, ACK: 0
    /// if segments that it answers met a queue.
    uint32_t ahead{kNone};
    uint16_t hop{0}; //!< number of links of its way that it has passed
    /// Port of the switch, as its number among the node's links, through which the frame came and
    /// whose buffer it uses.
    uint16_t ingress{kNoPort};
    FrameKind kind{FrameKind::Data};
    uint8_t frames{1}; //!< number of frames that it stands for
    uint8_t marks{0};  //!< number of these that have experienced congestion
    /// RoCEv2: the receiver answers the last of these frames; TCP, data: the window was reduced
    /// (CWR), ACK: it answers a SYN.
    bool wantsAck{false};
};

static_assert(sizeof(Frame) == 64, "a frame in flight takes one line of the cache");

/// A FrameList is a queue of frames, which are given by their numbers in a pool.
struct FrameList
{
    uint32_t head{Frame::kNone};
    uint32_t tail{Frame::kNone};
    int64_t bytes{0}; //!< bytes of the frames in buffers

    bool Empty() const
    {
        return head == Frame::kNone;
    }
};

/// A FrameRoom says what the frames of a network have besides a Frame.
struct FrameRoom
{
    bool telemetry{false};  //!< switches write it into data frames
    std::size_t records{0}; //!< most records of a frame
    int64_t gap{0};         //!< bytes on the wire that take no room in buffers
};

/// A FramePool owns all frames of a network and their telemetry. Frames never move in memory.
class FramePool
{
  public:
    /**
     * \param records number of telemetry records of a frame, one for each switch on the longest
     * path; 0: none
     * \param gap bytes of a frame on the wire that take no room in buffers
     */
    FramePool(std::size_t records, int64_t gap) : m_stride(records), m_gap(gap)
    {
    }

    /**
     * \param frame a frame
     * \return number of bytes that it takes in buffers
     */
    int64_t InBuffer(const Frame& frame) const
    {
        return frame.wire - frame.frames * m_gap;
    }

    Frame& operator[](uint32_t frame)
    {
        return m_blocks[frame / kBlock][frame % kBlock];
    }

    const Frame& operator[](uint32_t frame) const
    {
        return m_blocks[frame / kBlock][frame % kBlock];
    }

    /**
     * \return the number of a frame that has no telemetry
     */
    uint32_t Take()
    {
        if (m_free == Frame::kNone)
        {
            if (m_size % kBlock == 0)
            {
                m_blocks.push_back(std::make_unique<Frame[]>(kBlock));
            }
            return m_size++;
        }
        const uint32_t frame = m_free;
        m_free = (*this)[frame].next;
        (*this)[frame] = Frame{};
        return frame;
    }

    /**
     * \param frame that is no longer used
     */
    void Give(uint32_t frame)
    {
        if ((*this)[frame].records != Frame::kNone)
        {
            m_freeRecords.push_back((*this)[frame].records);
        }
        (*this)[frame].next = m_free;
        m_free = frame;
    }

    /**
     * \return the number of frames that were taken and not given back
     */
    std::size_t InUse() const
    {
        std::size_t frames = m_size;
        for (uint32_t free = m_free; free != Frame::kNone;
             free = m_blocks[free / kBlock][free % kBlock].next)
        {
            --frames;
        }
        return frames;
    }

    /**
     * Gives a frame room for telemetry.
     * \param frame a data frame
     */
    void AddRecords(uint32_t frame)
    {
        if (m_freeRecords.empty())
        {
            m_freeRecords.push_back(static_cast<uint32_t>(m_records.size()));
            m_records.resize(m_records.size() + m_stride);
        }
        (*this)[frame].records = m_freeRecords.back();
        m_freeRecords.pop_back();
    }

    /**
     * \param frame with telemetry
     * \return pointer to its first record
     */
    fabric::IntRecord* RecordsOf(uint32_t frame)
    {
        return &m_records[(*this)[frame].records];
    }

    /**
     * \param list a queue
     * \param frame that is added at the end
     * \param bytes that the frame takes in buffers
     */
    void Push(FrameList& list, uint32_t frame, int64_t bytes)
    {
        (*this)[frame].next = Frame::kNone;
        (list.Empty() ? list.head : (*this)[list.tail].next) = frame;
        list.tail = frame;
        list.bytes += bytes;
    }

    /**
     * \param list a queue, not empty
     * \param bytes that its first frame takes in buffers
     * \return its first frame
     */
    uint32_t Pop(FrameList& list, int64_t bytes)
    {
        const uint32_t frame = list.head;
        list.head = (*this)[frame].next;
        list.bytes -= bytes;
        return frame;
    }

  private:
    static constexpr uint32_t kBlock = 1024;

    std::size_t m_stride;
    int64_t m_gap;
    uint32_t m_size{0};
    std::vector<std::unique_ptr<Frame[]>> m_blocks;
    std::vector<fabric::IntRecord> m_records;
    std::vector<uint32_t> m_freeRecords;
    uint32_t m_free{Frame::kNone};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_FRAME_H
