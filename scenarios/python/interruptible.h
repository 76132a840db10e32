// Long work that Ctrl-C can end.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <exception>
#include <future>

#include "base/program.h"

namespace legacy::python {

// Runs `work(stop)` on a thread of its own without Python's lock, so that other Python threads and
// the handlers of signals run meanwhile. An exception of a handler (KeyboardInterrupt) sets `stop`
// and is raised when the work has ended. Otherwise the work's result is returned, or its exception
// thrown. The caller holds the lock.
template <typename Work>
auto Interruptible(const Work& work) {
  namespace py = pybind11;
  StopFlag stop = 0;
  std::exception_ptr raised;
  const py::gil_scoped_release others_run;
  auto result = std::async(std::launch::async, [&] { return work(stop); });
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0) continue;
    try {
      throw py::error_already_set();
    } catch (...) {
      raised = std::current_exception();
    }
    stop = 1;
  }
  if (!raised) return result.get();
  result.wait();
  std::rethrow_exception(raised);
}

}  // namespace legacy::python
