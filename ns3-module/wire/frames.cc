#include "frames.h"

#include "base/error.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace legacy::wire
{

namespace
{

constexpr size_t kHeaderBytes = 5;             // length and kind
constexpr size_t kManyBytes = size_t{1} << 16; // that are written without being told to

/// Writes some bytes. A reader that is gone is an error and no signal, where the file is a socket.
ssize_t WriteSome(int file, const std::byte* bytes, size_t count)
{
    const ssize_t sent = send(file, bytes, count, MSG_NOSIGNAL);
    return sent < 0 && errno == ENOTSOCK ? write(file, bytes, count) : sent;
}

} // namespace

void FrameWriter::Add(Kind kind, const Bytes& body)
{
    if (body.size() > kMostBytes)
    {
        throw Error("frame to another program: " + std::to_string(body.size()) +
                    " bytes; at most " + std::to_string(kMostBytes) + " travel at once");
    }
    const std::lock_guard lock(m_mutex);
    const auto length = static_cast<uint32_t>(body.size());
    const auto* const begin = reinterpret_cast<const std::byte*>(&length);
    m_frames.insert(m_frames.end(), begin, begin + sizeof length);
    m_frames.push_back(static_cast<std::byte>(kind));
    m_frames.insert(m_frames.end(), body.begin(), body.end());
    if (m_frames.size() >= kManyBytes)
    {
        FlushLocked();
    }
}

void FrameWriter::Flush()
{
    const std::lock_guard lock(m_mutex);
    FlushLocked();
}

void FrameWriter::FlushLocked()
{
    for (size_t written = 0; written < m_frames.size();)
    {
        const ssize_t n = WriteSome(m_file, m_frames.data() + written, m_frames.size() - written);
        if (n < 0 && errno != EINTR)
        {
            m_frames.clear();
            throw Error("frame to another program: " + std::string(std::strerror(errno)));
        }
        written += n > 0 ? static_cast<size_t>(n) : 0;
    }
    m_frames.clear();
}

bool FrameReader::Take(Frame& frame)
{
    const size_t left = m_bytes.size() - m_begin;
    if (left < kHeaderBytes)
    {
        return false;
    }
    uint32_t length = 0;
    std::memcpy(&length, m_bytes.data() + m_begin, sizeof length);
    if (length > kMostBytes)
    {
        throw Error("frame of another program",
                    std::to_string(length) + " bytes",
                    "at most " + std::to_string(kMostBytes));
    }
    if (left < kHeaderBytes + length)
    {
        return false;
    }
    const std::byte* const body = m_bytes.data() + m_begin + kHeaderBytes;
    frame.kind = static_cast<Kind>(m_bytes[m_begin + sizeof length]);
    frame.body.assign(body, body + length);
    m_begin += kHeaderBytes + length;
    if (m_begin == m_bytes.size())
    {
        m_bytes.clear();
        m_begin = 0;
    }
    return true;
}

Got FrameReader::Next(int milliseconds, Frame& frame)
{
    while (!Take(frame))
    {
        pollfd waiting = {m_file, POLLIN, 0};
        const int ready = poll(&waiting, 1, milliseconds);
        if (ready < 0 && errno == EINTR)
        {
            continue;
        }
        if (ready == 0)
        {
            return Got::Nothing;
        }
        std::byte part[1 << 16];
        const ssize_t n = read(m_file, part, sizeof part);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
        {
            continue;
        }
        if (n <= 0)
        {
            return Got::End;
        }
        m_bytes.erase(m_bytes.begin(), m_bytes.begin() + static_cast<std::ptrdiff_t>(m_begin));
        m_begin = 0;
        m_bytes.insert(m_bytes.end(), part, part + n);
    }
    return Got::Frame;
}

} // namespace legacy::wire
