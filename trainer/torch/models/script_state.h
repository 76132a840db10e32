// Values of a TorchScript module as bytes: what its passes may change besides the weights.
#pragma once

#include <torch/script.h>

#include <map>
#include <set>

#include "base/state.h"

namespace legacy {

// Tensors, by the address of their implementation.
using TensorSet = std::set<const void*>;

// Append and read a value: numbers, texts, tensors, and lists, tuples, dictionaries and objects of
// those. Neither the tensors in `kept`, which are written elsewhere, nor values that code cannot
// change, such as devices, are written: they stay. ReadValue writes into the tensors of `current`,
// so that they stay the same ones, and returns the value to put in its place. It throws Error where
// the bytes are not those of a value of the type.
void WriteValue(const c10::IValue& value, const TensorSet& kept, StateWriter& out);
c10::IValue ReadValue(const c10::IValue& current, const c10::TypePtr& type, StateReader& in);

// Returns a copy of a value and of all that it refers to, except the tensors in `kept`, which it
// shares. `copies` has what was copied so far, so that what has two names stays one thing.
using Copies = std::map<const void*, c10::IValue>;
c10::IValue CopyValue(const c10::IValue& value, const TensorSet& kept, Copies& copies);

}  // namespace legacy
