/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_RING_BUFFER_H
#define LEGACY_RING_BUFFER_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace legacy
{
namespace packet
{

/// A RingBuffer is a queue in one array. The array doubles when it is full, and is freed when the
/// queue becomes empty. An empty queue takes 24 bytes, and an empty std::deque 0.6 kB.
template <typename T>
class RingBuffer
{
  public:
    uint32_t size() const
    {
        return m_size;
    }

    bool empty() const
    {
        return m_size == 0;
    }

    /// Returns the item that has `index` items before it.
    T& operator[](uint32_t index)
    {
        return m_items[(m_first + index) & (m_capacity - 1)];
    }

    const T& operator[](uint32_t index) const
    {
        return m_items[(m_first + index) & (m_capacity - 1)];
    }

    T& front()
    {
        return m_items[m_first];
    }

    void push_back(T item)
    {
        if (m_size == m_capacity)
        {
            Grow();
        }
        (*this)[m_size++] = std::move(item);
    }

    void pop_front()
    {
        m_items[m_first] = T{};
        m_first = (m_first + 1) & (m_capacity - 1);
        --m_size;
        GiveBack();
    }

    /// Removes an item; those after it move up.
    void erase(uint32_t index)
    {
        for (; index + 1 < m_size; ++index)
        {
            (*this)[index] = std::move((*this)[index + 1]);
        }
        (*this)[--m_size] = T{};
        GiveBack();
    }

  private:
    void Grow()
    {
        const uint32_t capacity = std::max<uint32_t>(1, 2 * m_capacity);
        auto items = std::make_unique<T[]>(capacity);
        for (uint32_t i = 0; i < m_size; ++i)
        {
            items[i] = std::move((*this)[i]);
        }
        m_items = std::move(items);
        m_capacity = capacity;
        m_first = 0;
    }

    void GiveBack()
    {
        if (m_size == 0)
        {
            m_items.reset();
            m_capacity = 0;
            m_first = 0;
        }
    }

    std::unique_ptr<T[]> m_items;
    uint32_t m_capacity{0}; //!< 0, or a power of two
    uint32_t m_first{0};
    uint32_t m_size{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_RING_BUFFER_H
