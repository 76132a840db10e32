// A program ends with a status, a message, or at a signal.
#pragma once

#include <csignal>
#include <functional>
#include <string>

namespace legacy {

// Exit statuses of all programs, besides 0: something failed; something that was given is not
// allowed, such as an option or a value; the program was interrupted.
inline constexpr int kFailed = 1;
inline constexpr int kRefused = 2;
inline constexpr int kStoppedEarly = 4;  // a training or plan ended before all versions were made
inline constexpr int kInterrupted = 130;

// Runs a program's own part and returns its exit status. What it throws is written to standard
// error after the program's name, with kRefused where it is a refusal (Error::IsRefusal) and
// kFailed otherwise. Standard output that did not take everything, as on a full disk, is reported
// there too, and makes a status of 0 a kFailed.
int ProgramStatus(const char* program, const std::function<int()>& run);
// Runs a program's own part in the same way and ends the process with that status. The objects that
// live until then are not destroyed, which takes LibTorch a tenth of a second; with a sanitizer
// they are, so that it finds leaks.
[[noreturn]] void RunProgram(const char* program, const std::function<int()>& run);

// Returns how the reader of a hint should call a program: in the way in which ./waf ran this one
// ("./waf --run legacy-data"; it sets LEGACY_LAUNCHER to the name it was called by), or by its
// name.
std::string CommandOf(const std::string& program);

// A StopFlag is read by long work between its steps; other than 0, it should end.
using StopFlag = volatile std::sig_atomic_t;

// Makes SIGINT and SIGTERM set the flag that is returned while a StopScope lives, and otherwise end
// the program at once with kInterrupted. A second signal ends it at once everywhere.
const StopFlag& CatchStop();

// Limits of StopScope, in seconds: for work without anything large to save, and for work of
// children.
inline constexpr unsigned kSecondsToStop = 1;
inline constexpr unsigned kSecondsToStopChildren = 5;

// A StopScope is the part of a program that looks at the flag often, and has something to save when
// it is set. Outside of it nothing is left half-written by an end at once.
class StopScope {
 public:
  // After `seconds` from the signal the program ends even where the flag was not looked at; 0: it
  // is waited for, however long that takes.
  explicit StopScope(unsigned seconds = 0);
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  ~StopScope();

 private:
  const unsigned outer_;
};

// Makes one signal set that flag, in a process that another one stops.
const StopFlag& CatchStop(int signal);

// Makes SIGUSR1, which Slurm sends before its limit, count up the number that is returned. It does
// not end the program.
const StopFlag& CatchRequests();

}  // namespace legacy
