// Selective repeat of one queue pair (IRN: Mittal et al., "Revisiting Network Support for RDMA",
// SIGCOMM'18, section 3.1): the receiver places frames wherever they belong, and ACKs say which one
// came. The sender keeps a bit for each frame of a span of a few windows. A frame that has not
// arrived is lost when one that was sent `reorder` frames later has. The first loss begins a
// recovery, which lasts until all that had been sent when it began is acknowledged; in it each lost
// frame is sent again once, ahead of new ones. What is lost twice waits for a time-out, which sends
// the first missing frame again, and again the lost ones after it.
//
//   SelectiveSender sender;
//   sender.Open(span, reorder);          // the only call that allocates
//   sender.OnArrived(psn);               // an ACK says that the frame came, ahead of others
//   if (sender.Forget(psn)) ...          // a cumulative ACK passes it; true: it was known
//   if (sender.Update(acked, next)) ...  // after each ACK; true: a recovery begins
//   while (sender.HasHole()) { Send(sender.Hole()); sender.OnResent(acked, next); }
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace legacy::fabric
{

/// PsnBits have a bit for each frame of a span that moves on.
class PsnBits
{
  public:
    /// Makes room for `span` frames in a row. All bits are clear.
    void Open(uint64_t span)
    {
        uint64_t words = 1;
        while (words * kWord < span)
        {
            words *= 2;
        }
        m_words.assign(words, 0);
    }

    bool Has(uint64_t psn) const
    {
        return (m_words[Word(psn)] >> (psn % kWord) & 1) != 0;
    }

    void Set(uint64_t psn)
    {
        m_words[Word(psn)] |= uint64_t{1} << (psn % kWord);
    }

    void Clear(uint64_t psn)
    {
        m_words[Word(psn)] &= ~(uint64_t{1} << (psn % kWord));
    }

  private:
    static constexpr uint64_t kWord = 64;

    uint64_t Word(uint64_t psn) const
    {
        return psn / kWord & (m_words.size() - 1);
    }

    std::vector<uint64_t> m_words; ///< as many as a power of two
};

/// A SelectiveSender knows which frames have arrived ahead of others, and which to send again.
class SelectiveSender
{
  public:
    /// `span` is the most frames from the first missing one to the last that was sent; `reorder` is
    /// how many frames later one must have been sent, so that its arrival tells of a loss: 1 or
    /// more.
    void Open(uint64_t span, uint64_t reorder)
    {
        m_span = span;
        m_reorder = reorder;
        m_arrived.Open(span);
    }

    uint64_t Span() const
    {
        return m_span;
    }

    /// Returns the number of frames that are known to have arrived ahead of others.
    uint64_t Ahead() const
    {
        return m_ahead;
    }

    /// Notes that a frame has arrived, of those that are sent and not acknowledged. Returns false
    /// where that was known.
    bool OnArrived(uint64_t psn)
    {
        if (m_arrived.Has(psn))
        {
            return false;
        }
        m_arrived.Set(psn);
        ++m_ahead;
        m_behind = std::max(m_behind, psn + 1);
        return true;
    }

    /// Moves past a frame that is acknowledged. Returns true where its arrival was known.
    bool Forget(uint64_t psn)
    {
        if (!m_arrived.Has(psn))
        {
            return false;
        }
        m_arrived.Clear(psn);
        --m_ahead;
        return true;
    }

    /// Looks for the next lost frame, with all below `acked` acknowledged and all below `next`
    /// sent. Returns true where a recovery begins.
    bool Update(uint64_t acked, uint64_t next)
    {
        m_recovering = m_recovering && acked < m_recovered;
        m_cursor = std::max(m_cursor, acked);
        const uint64_t lost = std::max(m_expired, m_behind > m_reorder ? m_behind - m_reorder : 0);
        while (m_cursor < lost && m_arrived.Has(m_cursor))
        {
            ++m_cursor;
        }
        m_hole = m_cursor < lost;
        if (!m_hole || m_recovering)
        {
            return false;
        }
        m_recovering = true;
        m_recovered = next;
        return true;
    }

    /// Returns whether a lost frame is to be sent again, and which.
    bool HasHole() const
    {
        return m_hole;
    }

    uint64_t Hole() const
    {
        return m_cursor;
    }

    /// Notes that Hole() is sent again.
    void OnResent(uint64_t acked, uint64_t next)
    {
        ++m_cursor;
        Update(acked, next);
    }

    /// Begins a recovery with the first missing frame.
    void OnTimeout(uint64_t acked, uint64_t next)
    {
        m_cursor = acked;
        m_expired = acked + 1;
        m_recovering = false;
        Update(acked, next);
    }

  private:
    uint64_t m_span = 0;
    uint64_t m_reorder = 1;
    PsnBits m_arrived;
    uint64_t m_ahead = 0;
    uint64_t m_behind = 0;  ///< after the last frame that has arrived
    uint64_t m_expired = 0; ///< after the frame that a time-out took for lost
    uint64_t m_cursor = 0;  ///< lost frames below have been sent again
    bool m_hole = false;    ///< the frame at m_cursor is lost
    bool m_recovering = false;
    uint64_t m_recovered = 0; ///< where the recovery ends
};

/// A SelectiveReceiver knows which frames have arrived ahead of others.
class SelectiveReceiver
{
  public:
    void Open(uint64_t span)
    {
        m_arrived.Open(span);
    }

    /// Returns whether a frame, not below `expected`, has arrived before.
    bool Has(uint64_t psn) const
    {
        return m_arrived.Has(psn);
    }

    /// Returns whether a frame was overtaken: a later one has arrived.
    bool IsOvertaken(uint64_t psn) const
    {
        return psn < m_behind;
    }

    /// Places a frame that has not arrived before. Returns the frame to arrive next, where that was
    /// `expected`.
    uint64_t Place(uint64_t psn, uint64_t expected)
    {
        m_behind = std::max(m_behind, psn + 1);
        if (psn != expected)
        {
            m_arrived.Set(psn);
            return expected;
        }
        ++expected;
        while (expected < m_behind && m_arrived.Has(expected))
        {
            m_arrived.Clear(expected++);
        }
        return expected;
    }

  private:
    PsnBits m_arrived;
    uint64_t m_behind = 0; ///< after the last frame that has arrived
};

} // namespace legacy::fabric
