// An archive writes values field by field, or reads them back. Fields(archive, value) of a struct
// lists its fields once, for both directions.
//
//   ToArchive(out, step, times);         StateWriter& out
//   FromArchive(in, step, times);        StateReader& in
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/state.h"

namespace legacy {

template <class T>
concept ArchivedNumber = std::integral<T> || std::is_enum_v<T>;

// A Saver writes values; it changes none.
class Saver {
 public:
  explicit Saver(StateWriter& out) : out_(out) {}

  template <class... Values>
  void operator()(Values&... values) {
    (Put(values), ...);
  }

 private:
  template <ArchivedNumber T>
  void Put(const T& value) {
    out_.Number(static_cast<uint64_t>(value));
  }
  void Put(const double& value) { out_.Number(std::bit_cast<uint64_t>(value)); }
  void Put(const std::string& value) { out_.Text(value); }
  template <class T>
  void Put(const std::vector<T>& values) {
    out_.Number(values.size());
    for (const T& value : values) Put(value);
  }
  template <class T, size_t N>
  void Put(const std::array<T, N>& values) {
    for (const T& value : values) Put(value);
  }
  template <class T>
  void Put(const std::optional<T>& value) {
    out_.Number(value.has_value() ? 1 : 0);
    if (value) Put(*value);
  }
  template <class First, class Second>
  void Put(const std::pair<First, Second>& values) {
    Put(values.first);
    Put(values.second);
  }
  template <class Key, class T>
  void Put(const std::map<Key, T>& values) {
    out_.Number(values.size());
    for (const auto& value : values) Put(value);
  }
  template <class T>
  requires std::is_class_v<T>
  void Put(const T& value) { Fields(*this, const_cast<T&>(value)); }

  StateWriter& out_;
};

// A Loader reads values from untrusted bytes: it throws Error where they are not such values.
class Loader {
 public:
  explicit Loader(StateReader& in) : in_(in) {}

  template <class... Values>
  void operator()(Values&... values) {
    (Get(values), ...);
  }

 private:
  template <ArchivedNumber T>
  void Get(T& value) {
    const uint64_t number = in_.Number();
    value = static_cast<T>(number);
    if (static_cast<uint64_t>(value) != number) {
      throw Error("state: a number", std::to_string(number), "numbers of its type");
    }
  }
  void Get(double& value) { value = std::bit_cast<double>(in_.Number()); }
  void Get(std::string& value) { value = in_.Text(); }
  template <class T>
  void Get(std::vector<T>& values) {
    values.clear();
    for (uint64_t left = Count(); left > 0; --left) {
      T value{};
      Get(value);
      values.push_back(std::move(value));
    }
  }
  template <class T, size_t N>
  void Get(std::array<T, N>& values) {
    for (T& value : values) Get(value);
  }
  template <class T>
  void Get(std::optional<T>& value) {
    value.reset();
    if (in_.Number("whether there is a value", 1) == 1) Get(value.emplace());
  }
  template <class First, class Second>
  void Get(std::pair<First, Second>& values) {
    Get(values.first);
    Get(values.second);
  }
  template <class Key, class T>
  void Get(std::map<Key, T>& values) {
    values.clear();
    for (uint64_t left = Count(); left > 0; --left) {
      Key key{};
      Get(key);
      if (!values.empty() && !(values.rbegin()->first < key)) {
        throw Error("state: the keys of values do not ascend");
      }
      Get(values[key]);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void Get(T& value) { Fields(*this, value); }

  // Returns a count of values. Each takes bytes, so that a malicious count takes no memory.
  uint64_t Count() { return in_.Number("number of values", in_.Left()); }

  StateReader& in_;
};

template <class... Values>
void ToArchive(StateWriter& out, const Values&... values) {
  Saver saver(out);
  saver(values...);
}

template <class... Values>
void FromArchive(StateReader& in, Values&... values) {
  Loader loader(in);
  loader(values...);
}

}  // namespace legacy
