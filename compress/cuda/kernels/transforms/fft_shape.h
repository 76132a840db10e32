// The order in which a transform of half = length / 2 complex numbers (cpu/fft.h) is computed in
// place: where each number is stored, and which numbers each stage combines.
//
// Number i of the input is at location i: the upper bits are the row, the lower ones the column.
// Stockham's transforms go down the columns first. Each of their stages replaces one digit of the
// row, two bits from the top on (the last digit has one bit if their number is odd), by a digit of
// the row's frequency, lowest first. The transforms of the rows then replace the column's digits.
// The digits of frequencies are therefore in falling order, and the twiddles between both depend on
// the location alone.
//
// Numbers of one digit, or of two consecutive digits, stay in registers: 16 at most.
#pragma once

#include <cstdint>

namespace legacy::cuda {

// Returns the number of threads of a block that transforms tiles of 2^log elements.
constexpr int FftThreads(int log) { return log <= 12 ? 128 : 256; }

// A digit of a location.
struct FftDigit {
  int low = 0;   // number of bits below it in the location
  int bits = 0;  // number of bits; 0 for no digit
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

  // Returns the location of frequency k of the transform.
  constexpr int LocationOf(int k) const {
    return Digits(k & ((1 << row_bits()) - 1), row_bits()) << column_bits() |
           Digits(k >> row_bits(), column_bits());
  }
  // Returns the index into Tables::twiddles of the factor of a location whose row is transformed.
  constexpr int TwistAt(int location) const {
    const int columns = 1 << column_bits();
    return Frequency(location >> column_bits(), row_bits()) * columns + location % columns;
  }

 private:
  // Reverses the digits: the lowest digit of `frequency` becomes the highest.
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
