#include "control.h"

namespace legacy::fabric
{

void RoceControl::OnSent(RoceState&, const RoceSent&) const
{
}

void RoceControl::OnAck(RoceState&, const RoceAck&) const
{
}

void RoceControl::OnCnp(RoceState&, Picoseconds) const
{
}

void RoceControl::OnLoss(RoceState&, const RoceLoss&) const
{
}

void RoceControl::OnTimer(RoceState&, Picoseconds) const
{
}

} // namespace legacy::fabric
