#include "base/programs/patience.h"

#include <atomic>

namespace legacy {
namespace {

std::atomic<bool> g_patient = false;
std::atomic<bool> g_late = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void GiveUpIfLate() {
  if (g_late.load(std::memory_order_relaxed)) throw GivenUp();
}

bool BeLate() { return g_patient && !g_late.exchange(true); }

bool IsPatient() { return g_patient; }

PatientScope::Patience::Patience() : outer_(g_patient.exchange(true)) {}

PatientScope::Patience::~Patience() {
  g_late = false;
  g_patient = outer_;
}

}  // namespace legacy
