// No congestion control: senders use the line rate and have no window. Only pauses and drops hold
// them back, which is the worst case to compare others with.
#include "controls.h"

#include <new>

namespace legacy::fabric
{

namespace
{

class NoControl : public RoceControl
{
  public:
    const RoceTraits& Traits() const override
    {
        return m_traits;
    }

    size_t StateBytes(int) const override
    {
        return sizeof(RoceState);
    }

    RoceState* Begin(void* memory, const RocePath& path, Picoseconds) const override
    {
        auto* state = new (memory) RoceState;
        state->rate = path.lineRate;
        return state;
    }

  private:
    RoceTraits m_traits;
};

std::unique_ptr<const RoceControl> MakeNoControl(Settings&)
{
    return std::make_unique<NoControl>();
}

} // namespace

RoceControlRow NoControlRow()
{
    return {
        "none", "line rate and no window: pauses alone hold senders back", "", {}, MakeNoControl};
}

} // namespace legacy::fabric
