// Frames of the protocol (protocol.h) over file descriptors.
#pragma once

#include "base/archive.h"
#include "base/bytes.h"
#include "base/state.h"
#include "protocol.h"

#include <cstddef>
#include <mutex>

namespace legacy::wire
{

/// The most bytes of a body: those of a network of millions of links.
inline constexpr size_t kMostBytes = size_t{1} << 30;

/// A Frame is one message.
struct Frame
{
    Kind kind = Kind::Alive;
    Bytes body;

    /// Returns the value of the body. Throws Error unless the body is one.
    template <class T>
    T As() const
    {
        StateReader in(body);
        T value{};
        FromArchive(in, value);
        in.ExpectEnd();
        return value;
    }
};

/// A FrameWriter collects frames, and writes them to a file when it is told to, or when they are
/// many. Several threads may use one.
class FrameWriter
{
  public:
    explicit FrameWriter(int file) : m_file(file)
    {
    }

    /// Adds a frame with these fields. Throws Error where the reader is gone, or a body is larger
    /// than kMostBytes.
    template <class... Values>
    void Write(Kind kind, const Values&... values)
    {
        StateWriter out;
        ToArchive(out, values...);
        Add(kind, out.Take());
    }

    /// Writes all frames so far. Throws Error where the reader is gone.
    void Flush();

  private:
    void Add(Kind kind, const Bytes& body);
    void FlushLocked();

    const int m_file;
    std::mutex m_mutex;
    Bytes m_frames; ///< that were not written yet
};

/// What a FrameReader got.
enum class Got : uint8_t
{
    Frame,
    Nothing, ///< nothing came in the given time
    End,     ///< the writer is gone
};

/// A FrameReader reads frames.
class FrameReader
{
  public:
    explicit FrameReader(int file) : m_file(file)
    {
    }

    /// Waits for a frame, at most so many milliseconds; -1: for ever. Throws Error on bytes that
    /// are no frame.
    Got Next(int milliseconds, Frame& frame);

  private:
    bool Take(Frame& frame);

    const int m_file;
    Bytes m_bytes;
    size_t m_begin = 0; ///< of the bytes that no frame has taken
};

} // namespace legacy::wire
