// Device primitives: which architecture has which, and those that C++ alone can't write, because their operand lists
// depend on their sizes.
//
// Printed primitives and their signatures; templates call them as templates/device/printed.h declares them:
//   void wgmma_m64n<N>k<K>_<type>_ss[_<major>](float (&d)[N / 2], unsigned long long a, unsigned long long b,
//                                              int accumulate)
//   void wgmma_m64n<N>k<K>_<type>_rs[_<major>](float (&d)[N / 2], const unsigned int (&a)[4], unsigned long long b,
//                                              int accumulate)
//     N: 8 to 256 in steps of 8. type f16 or bf16 with K = 16, tf32 with K = 8. ss: A by its descriptor
//     (wgmma_descriptor()), rs: A in registers. major, of 16-bit types: mn_a, mn_b, mn_ab say which operands are
//     MN-major in shared memory (mn_b alone with rs); without it they are K-major.
//   void setmaxnreg_increase_<R>()   and   void setmaxnreg_decrease_<R>()      R: 24 to 256 in steps of 8
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/chip/target.h"
#include "generator/program/program.h"
#include "generator/support/error.h"

namespace convtgen {

enum class WgmmaType { kF16, kBf16, kTf32 };

/// One of the wgmma instructions.
struct Wgmma {
  int n = 64;
  WgmmaType type = WgmmaType::kF16;
  bool a_in_registers = false;
  bool a_mn_major = false;
  bool b_mn_major = false;
  bool operator==(const Wgmma&) const = default;
};

/// "wgmma_m64n96k16_f16_ss".
[[nodiscard]] std::string wgmma_name(const Wgmma& wgmma);

/// Whether a name has the form of a printed primitive, a legal one or not.
[[nodiscard]] bool is_printed_primitive(std::string_view name);

/// The printed primitive of this name, with its comment, as templatec would have read it from a header.
/// Errors: no such instruction; the message says which part of the name is not legal, and what would be.
[[nodiscard]] Result<Primitive> printed_primitive(std::string_view name);

/// A template's call of a printed primitive as templates/device/printed.h declares it, not yet under its whole name.
struct PrintedCall {
  std::string_view name;             // "wgmma_ss"
  std::vector<std::int64_t> values;  // of its static arguments, in their order
  int accumulators = 0;              // elements of its first array
};

/// The whole name: "wgmma_m64n96k16_f16_ss". Whether there is such an instruction, printed_primitive() says.
/// Errors: no such declaration; a value that is no type or major; a number of accumulators that no product has.
[[nodiscard]] Result<std::string> printed_name(const PrintedCall& call);

/// What a primitive is part of: its header, relative to templates/ (none for a printed one), and what it needs of a
/// chip.
struct PrimitiveNeed {
  std::string name;
  std::string header;
  Features needs = {};
};

/// All functions of the headers in templates/device/ that are device primitives, printed ones left out.
[[nodiscard]] const std::vector<PrimitiveNeed>& known_primitives();

/// Whether a primitive can be used for an architecture ("sm_90a").
/// Errors: the architecture lacks it (the message names those that have it); an unknown architecture or primitive.
[[nodiscard]] Result<void> check_primitive(std::string_view name, std::string_view architecture);

/// What takes the place of a primitive in sources for an architecture that lacks it (Turing's): a function of the same
/// name that does the same. It uses nothing. None where the architecture has the primitive, and where nothing does.
[[nodiscard]] std::optional<std::string_view> substitute_of(std::string_view name, std::string_view architecture);

/// The target whose code alone has a primitive, an "a" architecture ("sm_90a"); null where portable code has it too,
/// and for unknown names.
[[nodiscard]] const Target* only_target_with(std::string_view name);

}  // namespace convtgen
