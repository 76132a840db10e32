#include "trainer/torch/models/script_state.h"

#include <torch/torch.h>

#include <bit>
#include <utility>
#include <vector>

#include "base/error.h"
#include "trainer/torch/models/tensor_state.h"

namespace legacy {
namespace {

// Kinds of values; they enter checkpoints.
enum ValueKind : uint64_t {
  kConstant,
  kNone,
  kBool,
  kInt,
  kDouble,
  kText,
  kTensor,
  kListOf,
  kTupleOf,
  kDictOf,
  kObjectOf,
  kKinds,
};

ValueKind KindOf(const c10::IValue& value) {
  if (value.isNone()) return kNone;
  if (value.isBool()) return kBool;
  if (value.isInt()) return kInt;
  if (value.isDouble()) return kDouble;
  if (value.isString()) return kText;
  if (value.isTensor()) return value.toTensor().defined() ? kTensor : kConstant;
  if (value.isList()) return kListOf;
  if (value.isTuple()) return kTupleOf;
  if (value.isGenericDict()) return kDictOf;
  if (value.isObject()) return kObjectOf;
  return kConstant;
}

[[noreturn]] void Refuse() { throw Error("state: a value of a module is of another kind"); }

c10::TypePtr Inner(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

// Returns the elements of a value to read into; none if it is of another kind.
std::vector<c10::IValue> ElementsOf(const c10::IValue& value) {
  if (value.isList()) return value.toListRef().vec();
  return {};
}

c10::IValue At(const std::vector<c10::IValue>& values, size_t i) {
  return i < values.size() ? values[i] : c10::IValue();
}

c10::IValue ReadTensor(const c10::IValue& current, StateReader& in) {
  const torch::Tensor loaded = LoadTensor(in);
  if (!current.isTensor() || !current.toTensor().defined()) return loaded;
  const torch::NoGradGuard no_grad;
  const torch::Tensor& own = current.toTensor();
  if (own.sizes() == loaded.sizes() && own.dtype() == loaded.dtype()) {
    torch::Tensor(own).detach().copy_(loaded);
  } else {
    torch::Tensor(own).set_data(loaded.to(own.device()));
  }
  return current;
}

c10::IValue ReadList(const c10::IValue& current, const c10::TypePtr& type, StateReader& in) {
  const auto list_type = type->cast<c10::ListType>();
  if (!list_type) Refuse();
  const std::vector<c10::IValue> before = ElementsOf(current);
  c10::impl::GenericList list(list_type->getElementType());
  const uint64_t count = in.Number("elements of a list", in.Left());
  for (uint64_t i = 0; i < count; ++i) {
    list.push_back(ReadValue(At(before, i), list_type->getElementType(), in));
  }
  return list;
}

c10::IValue ReadTuple(const c10::IValue& current, const c10::TypePtr& type, StateReader& in) {
  const auto tuple_type = type->cast<c10::TupleType>();
  if (!tuple_type) Refuse();
  in.ExpectNumber("elements of a tuple", tuple_type->elements().size());
  std::vector<c10::IValue> before, after;
  if (current.isTuple()) before = current.toTupleRef().elements().vec();
  for (const c10::TypePtr& element : tuple_type->elements()) {
    after.push_back(ReadValue(At(before, after.size()), element, in));
  }
  return c10::ivalue::Tuple::createNamed(std::move(after), tuple_type);
}

c10::IValue ReadDict(const c10::TypePtr& type, StateReader& in) {
  const auto dict_type = type->cast<c10::DictType>();
  if (!dict_type) Refuse();
  c10::impl::GenericDict dict(dict_type->getKeyType(), dict_type->getValueType());
  for (uint64_t left = in.Number("entries of a dictionary", in.Left()); left > 0; --left) {
    const c10::IValue key = ReadValue({}, dict_type->getKeyType(), in);
    dict.insert(key, ReadValue({}, dict_type->getValueType(), in));
  }
  return dict;
}

c10::IValue ReadObject(const c10::IValue& current, StateReader& in) {
  if (!current.isObject()) Refuse();
  const auto object = current.toObject();
  in.ExpectNumber("attributes of an object", object->slots().size());
  for (size_t i = 0; i < object->slots().size(); ++i) {
    object->setSlot(i, ReadValue(object->getSlot(i), object->type()->getAttribute(i), in));
  }
  return current;
}

// Reads a value that may be of a type other than the declared one.
c10::IValue ReadAny(const c10::IValue& current, const c10::TypePtr& declared, StateReader& in) {
  const c10::TypePtr type = Inner(declared);
  switch (in.Number("kind of a value", kKinds - 1)) {
    case kNone:
      return {};
    case kBool:
      return in.Number("bool", 1) == 1;
    case kInt:
      return std::bit_cast<int64_t>(in.Number());
    case kDouble:
      return std::bit_cast<double>(in.Number());
    case kText:
      return in.Text();
    case kTensor:
      return ReadTensor(current, in);
    case kListOf:
      return ReadList(current, type, in);
    case kTupleOf:
      return ReadTuple(current, type, in);
    case kDictOf:
      return ReadDict(type, in);
    case kObjectOf:
      return ReadObject(current, in);
    default:
      return current;
  }
}

}  // namespace

c10::IValue CopyValue(const c10::IValue& value, const TensorSet& kept, Copies& copies) {
  if (value.isTensor()) {
    const torch::Tensor& tensor = value.toTensor();
    if (!tensor.defined() || kept.contains(tensor.unsafeGetTensorImpl())) return value;
    c10::IValue& copy = copies[tensor.unsafeGetTensorImpl()];
    if (copy.isNone()) copy = tensor.detach().clone();
    return copy;
  }
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      elements.push_back(CopyValue(element, kept, copies));
    }
    return c10::ivalue::Tuple::createNamed(std::move(elements),
                                           value.type()->expect<c10::TupleType>());
  }
  if (!value.isList() && !value.isGenericDict() && !value.isObject()) return value;
  if (const auto known = copies.find(value.internalToPointer()); known != copies.end()) {
    return known->second;
  }
  c10::IValue copy;
  if (value.isList()) {
    c10::impl::GenericList list(value.toList().elementType());
    for (const c10::IValue& element : ElementsOf(value)) {
      list.push_back(CopyValue(element, kept, copies));
    }
    copy = list;
  } else if (value.isGenericDict()) {
    const auto from = value.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from) dict.insert(entry.key(), CopyValue(entry.value(), kept, copies));
    copy = dict;
  } else {
    const auto from = value.toObject();
    const auto object = c10::ivalue::Object::create(
        c10::StrongTypePtr(from->compilation_unit(), from->type()), from->slots().size());
    for (size_t i = 0; i < from->slots().size(); ++i) {
      object->setSlot(i, CopyValue(from->getSlot(i), kept, copies));
    }
    copy = object;
  }
  copies[value.internalToPointer()] = copy;
  return copy;
}

void WriteValue(const c10::IValue& value, const TensorSet& kept, StateWriter& out) {
  const bool stays = value.isTensor() && kept.contains(value.toTensor().unsafeGetTensorImpl());
  const ValueKind kind = stays ? kConstant : KindOf(value);
  out.Number(kind);
  const auto write_all = [&](const auto& values) {
    out.Number(values.size());
    for (const c10::IValue& element : values) WriteValue(element, kept, out);
  };
  switch (kind) {
    case kBool:
      return out.Number(value.toBool() ? 1 : 0);
    case kInt:
      return out.Number(std::bit_cast<uint64_t>(value.toInt()));
    case kDouble:
      return out.Number(std::bit_cast<uint64_t>(value.toDouble()));
    case kText:
      return out.Text(value.toStringRef());
    case kTensor:
      return SaveTensor(value.toTensor().detach(), out);
    case kListOf:
      return write_all(ElementsOf(value));
    case kTupleOf:
      return write_all(value.toTupleRef().elements());
    case kDictOf: {
      const auto dict = value.toGenericDict();
      out.Number(dict.size());
      for (const auto& entry : dict) {
        WriteValue(entry.key(), kept, out);
        WriteValue(entry.value(), kept, out);
      }
      return;
    }
    case kObjectOf:
      return write_all(value.toObjectRef().slots());
    default:
      return;
  }
}

c10::IValue ReadValue(const c10::IValue& current, const c10::TypePtr& type, StateReader& in) {
  c10::IValue value = ReadAny(current, type, in);
  if (!value.type()->isSubtypeOf(*type)) Refuse();
  return value;
}

}  // namespace legacy
