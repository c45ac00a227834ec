// Resolved expressions and functions of a ConstantProgram (constants.h): names are indices.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/program/value.h"

namespace convtgen {

inline constexpr std::size_t kMostConstants = 256;   // of a program
inline constexpr std::size_t kMostParameters = 128;  // types too
using ConstantSet = std::bitset<kMostConstants>;
using ParameterSet = std::bitset<kMostParameters>;

struct ConstantNode {
  enum class Op : std::uint8_t {
    kLiteral,    // value
    kParameter,  // a: its index; of a type, its bytes
    kConstant,   // a
    kLocal,      // a: its place among the function's
    kAssign,     // a: the local; b
    kConvert,    // of a to the type
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder,
    kLess,
    kLessEqual,
    kEqual,
    kNotEqual,
    kAnd,  // && and ||, which evaluate b only where a does not decide
    kOr,
    kBitAnd,
    kBitOr,
    kBitXor,
    kShiftLeft,
    kShiftRight,
    kNot,
    kNegate,
    kComplement,
    kConditional,  // a ? b : c
    kCall,         // a: the function; b: its arguments' place among those of all calls; c: how many
  };
  Op op = Op::kLiteral;
  Scalar type = Scalar::kInt;  // of the value
  Scalar from = Scalar::kInt;  // of kConvert: the type of a
  int a = -1, b = -1, c = -1;  // nodes, where nothing else is said
  std::int64_t value = 0;      // of kLiteral; of others the bits that results have in the type: all, if it is signed
};

/// What is unsigned and of fewer than 64 bits wraps, as C++ says. The others have 64 bits here.
[[nodiscard]] inline std::int64_t bits_kept(Scalar type) {
  return is_floating(type) || type == Scalar::kBool || bits_of(type) == 64 || is_signed(type)
             ? -1
             : (std::int64_t{1} << bits_of(type)) - 1;
}

struct ConstantStep {
  enum class Kind { kDo, kIf, kLoop, kReturn, kBreak, kContinue };
  Kind kind = Kind::kDo;
  int node = -1;  // what is done or returned, or the condition; -1: none
  int next = -1;  // of a loop: what is done between its turns
  std::vector<ConstantStep> body = {}, otherwise = {};
};

/// A constexpr function.
struct ConstantFunction {
  std::vector<ConstantStep> body;
  std::size_t locals = 0;  // arguments first
};

struct ConstantRoot {
  int node = -1;           // -1: not resolved
  std::string reason;      // why not
  std::vector<int> reads;  // where a loop makes it: nodes of the parameters and constants that it is made of
};

}  // namespace convtgen
