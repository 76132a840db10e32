// What a program gets that is linked with ns-3.
#pragma once

namespace legacy {

// Lets packets be simulated in this process, and adds the validation sections that look into the
// packet engine. A program calls it first.
void UseNs3();

}  // namespace legacy
