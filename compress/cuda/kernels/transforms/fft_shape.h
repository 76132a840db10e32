// The shape of a transform of half = length / 2 complex numbers (cpu/fft.h) is how it is done in
// place: what is where, and which numbers meet when.
//
// Number i of the input is at location i: the upper bits are the row, the lower ones the column.
// Each stage of Stockham's transforms down the columns replaces one digit of the row, two bits from
// the top on (and the last one where their number is odd), by the digit of the row's frequency,
// lowest first; then the columns' digits. So digits of frequencies are in falling order, and
// twiddles between the two depend on the location alone.
//
// Numbers of one digit, or of two that follow each other stay in registers: 16 at most.
#pragma once

#include <cstdint>

namespace legacy::cuda {

// Threads of a block that transforms tiles of 2^log elements.
constexpr int FftThreads(int log) { return log <= 12 ? 128 : 256; }

// A digit of locations.
struct FftDigit {
  int low = 0;   // bits of the location below it
  int bits = 0;  // 0: there is none
};

struct FftShape {
  int half_bits = 4;

  constexpr int half() const { return 1 << half_bits; }
  constexpr int row_bits() const { return (half_bits + 1) / 2; }
  constexpr int column_bits() const { return half_bits / 2; }

  constexpr int digits() const { return (row_bits() + 1) / 2 + (column_bits() + 1) / 2; }
  constexpr FftDigit Digit(int number) const {
    FftDigit digit = {half_bits, 0};
    for (int i = 0; i <= number && digit.low > 0; ++i) {
      const int columns = column_bits();
      const int left = digit.low > columns ? digit.low - columns : digit.low;
      digit.bits = left < 2 ? left : 2;
      digit.low -= digit.bits;
    }
    return number < digits() ? digit : FftDigit();
  }

  // Returns where frequency k of the transform is.
  constexpr int LocationOf(int k) const {
    return Digits(k & ((1 << row_bits()) - 1), row_bits()) << column_bits() |
           Digits(k >> row_bits(), column_bits());
  }
  // Returns the index into Tables::twiddles for the number at a location when its row is done.
  constexpr int TwistAt(int location) const {
    const int columns = 1 << column_bits();
    return Frequency(location >> column_bits(), row_bits()) * columns + location % columns;
  }

 private:
  // The lowest digit of `frequency` becomes the highest, and so on.
  static constexpr int Digits(int frequency, int bits) {
    int location = 0;
    for (int done = 0; done < bits; done += 2) {
      const int width = bits - done < 2 ? 1 : 2;
      location |= (frequency >> done & ((1 << width) - 1)) << (bits - done - width);
    }
    return location;
  }
  static constexpr int Frequency(int location, int bits) {
    int frequency = 0;
    for (int done = 0; done < bits; done += 2) {
      const int width = bits - done < 2 ? 1 : 2;
      frequency |= (location >> (bits - done - width) & ((1 << width) - 1)) << done;
    }
    return frequency;
  }
};

}  // namespace legacy::cuda
