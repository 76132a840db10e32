// Long work that Ctrl-C can end.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <exception>
#include <future>

#include "base/programs/patience.h"
#include "base/programs/program.h"

namespace legacy::python {

// Runs `work(stop)` on a thread of its own without Python's lock, so that other Python threads and
// the handlers of signals run meanwhile. An exception of a handler (KeyboardInterrupt) sets `stop`
// and is raised when the work has ended; a step that then takes long, or a second exception, makes
// patient work give up (base/programs/patience.h). Otherwise the work's result is returned, or its
// exception thrown. The caller holds the lock.
template <typename Work>
auto Interruptible(const Work& work) {
  namespace py = pybind11;
  using Clock = std::chrono::steady_clock;
  StopFlag stop = 0;
  std::exception_ptr raised;
  auto late = Clock::time_point::max();
  const py::gil_scoped_release others_run;
  auto result = std::async(std::launch::async, [&] { return work(stop); });
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (Clock::now() > late) BeLate();
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0) continue;
    try {
      throw py::error_already_set();
    } catch (...) {
      late = Clock::now() + std::chrono::seconds(raised ? 0 : kSecondsToGiveUp);
      if (!raised) raised = std::current_exception();
    }
    stop = 1;
  }
  if (!raised) return result.get();
  result.wait();
  std::rethrow_exception(raised);
}

}  // namespace legacy::python
