// Long work gives up some time after its program was asked to stop: a step of many workers that
// takes a minute, which nobody wants to wait for. That work is lost then; the program continues
// from what was saved before it.
#pragma once

#include "base/programs/program.h"

namespace legacy {

// Ends work in the middle of a step. GiveUpIfLate throws it.
struct GivenUp {};

// Throws GivenUp where the innermost PatientScope has waited for long enough. It costs a read:
// long work calls it at least once a second of its own, from any thread.
void GiveUpIfLate();

// For signal handlers: lets GiveUpIfLate throw from now on. Returns false where there is no
// PatientScope, and where it does so already.
bool BeLate();
// Returns true inside of a PatientScope.
bool IsPatient();

// Seconds after which late work that has not given up ends with the program.
inline constexpr unsigned kSecondsToGiveUp = 5;

// A PatientScope is a StopScope in which the program does not end after `seconds` from the signal:
// its work gives up. With 0 seconds it is waited for, however long that takes. It must not outlive
// the scopes around it.
class PatientScope {
 public:
  explicit PatientScope(unsigned seconds) : scope_(seconds) {}

 private:
  class Patience {
   public:
    Patience();
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;
    ~Patience();

   private:
    const bool outer_;
  };

  const Patience patience_;  // lasts until scope_ has set its alarm off
  const StopScope scope_;
};

}  // namespace legacy
