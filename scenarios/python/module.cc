// The compiled part of the Python module: legacy/_legacy.*.so.
#include "base/error.h"
#include "base/programs/arguments.h"
#include "scenarios/python/bindings.h"

PYBIND11_MODULE(_legacy, module) {
  namespace py = pybind11;
  module.doc() = "Compiled part of the module legacy.";
  module.attr("version") = legacy::VersionText();
  // Errors of the user become a ValueError, whichever library throws them.
  static const py::exception<legacy::Error> error(module, "Error", PyExc_ValueError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const legacy::Error& caught) {
      PyErr_SetString(error.ptr(), caught.what());
    }
  });
  legacy::python::BindCodecs(module);
  legacy::python::BindPolicies(module);
  legacy::python::BindExchanges(module);
  legacy::python::BindNetwork(module);
  legacy::python::BindRuns(module);
  legacy::python::BindOwnMethods(module);
}
