// Declarations that the parts of the Python module `legacy` share. docs/python.md is its handbook
// page.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "compress/codec.h"
#include "compress/message.h"
#include "compress/options.h"
#include "scenarios/codec/method_check.h"

namespace legacy::python {

namespace py = pybind11;

// Each function adds its functions and classes to `module`, which is the private module _legacy.
void BindCodecs(py::module_& module);
void BindPolicies(py::module_& module);
void BindExchanges(py::module_& module);
void BindNetwork(py::module_& module);
void BindRuns(py::module_& module);
void BindOwnMethods(py::module_& module);

// A Floats is a contiguous array of float32.
using Floats = py::array_t<float, py::array::c_style>;

// Return an argument of a caller (legacy/_arrays.py): any real numbers, converted, and an array
// that is changed, as it is. Throw what says what is allowed.
inline Floats FloatsOf(const py::handle& value, const char* argument) {
  return py::module_::import("legacy._arrays").attr("floats")(value, argument);
}
inline Floats ChangedOf(const py::handle& value, const char* argument) {
  return py::module_::import("legacy._arrays").attr("changed")(value, argument);
}

// Returns the elements of an array of any shape. They are valid as long as the array.
inline std::span<const float> SpanOf(const Floats& values) {
  return {values.data(), static_cast<size_t>(values.size())};
}
inline std::span<float> ChangedSpanOf(Floats& values) {
  return {values.mutable_data(), static_cast<size_t>(values.size())};
}

// Returns a new array of `size` zeros.
inline py::array_t<float> ZeroArray(int64_t size) {
  py::array_t<float> array(size);
  std::fill_n(array.mutable_data(), size, 0.0F);
  return array;
}

// Returns the bytes of a message. They are valid as long as the object.
inline ByteSpan SpanOf(const py::bytes& message) {
  return std::as_bytes(std::span(std::string_view(message)));
}

inline py::bytes BytesOf(const Bytes& bytes) {
  return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A GivenParameter is a parameter as a caller writes it: a number, or the text of a command line
// ("1%"). Whole numbers are told apart, because a bare 1 is refused for a density.
using GivenParameter = std::variant<double, int64_t, std::string>;
// Returns the number. Throws Error naming `where`, in the words of command lines.
double NumberOf(const GivenParameter& given, const ParameterSpec& spec, const std::string& where);

// Returns the checked properties of a method as dicts.
inline py::list ListOf(const std::vector<CheckedProperty>& properties) {
  py::list list;
  for (const CheckedProperty& property : properties) {
    list.append(py::dict(py::arg("name") = property.name, py::arg("holds") = property.holds,
                         py::arg("detail") = property.detail));
  }
  return list;
}

// Returns the name of an option's kind, from which legacy/_text.py tells the unit of plain numbers.
inline const char* KindName(OptionKind kind) {
  constexpr const char* kNames[] = {"text", "integer", "number", "fraction",
                                    "rate", "time",    "bytes",  "target"};
  return kNames[static_cast<size_t>(kind)];
}

// Returns a method's row of its table as a dict.
inline py::dict DictOf(const MethodInfo& info) {
  py::list options;
  for (const OptionSpec& option : info.options) {
    options.append(py::dict(py::arg("name") = option.name, py::arg("default") = option.fallback,
                            py::arg("allowed") = option.allowed, py::arg("help") = option.help));
  }
  return py::dict(py::arg("name") = info.name, py::arg("help") = info.help,
                  py::arg("paper") = info.paper, py::arg("options") = options);
}

}  // namespace legacy::python
