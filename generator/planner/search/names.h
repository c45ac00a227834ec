// The names that a planner shares with its template, each written once: the parameters that are its block, and the
// constants that it uses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "generator/planner/search/block_constants.h"

// CONVTGEN_FOR_EACH(MACRO, a, b, ...) is MACRO(a) MACRO(b) ..., of up to 256.
#define CONVTGEN_PARENTHESES ()
#define CONVTGEN_EXPAND(...) CONVTGEN_EXPAND_64(CONVTGEN_EXPAND_64(CONVTGEN_EXPAND_64(CONVTGEN_EXPAND_64(__VA_ARGS__))))
#define CONVTGEN_EXPAND_64(...) \
  CONVTGEN_EXPAND_16(CONVTGEN_EXPAND_16(CONVTGEN_EXPAND_16(CONVTGEN_EXPAND_16(__VA_ARGS__))))
#define CONVTGEN_EXPAND_16(...) CONVTGEN_EXPAND_4(CONVTGEN_EXPAND_4(CONVTGEN_EXPAND_4(CONVTGEN_EXPAND_4(__VA_ARGS__))))
#define CONVTGEN_EXPAND_4(...) __VA_ARGS__
#define CONVTGEN_FOR_EACH(MACRO, ...) __VA_OPT__(CONVTGEN_EXPAND(CONVTGEN_EACH(MACRO, __VA_ARGS__)))
#define CONVTGEN_EACH(MACRO, first, ...) \
  MACRO(first) __VA_OPT__(CONVTGEN_EACH_AGAIN CONVTGEN_PARENTHESES(MACRO, __VA_ARGS__))
#define CONVTGEN_EACH_AGAIN() CONVTGEN_EACH

#define CONVTGEN_STRING(name) std::string_view(#name),

// CONVTGEN_CONSTANTS(kThreads, kSharedBytes, ...): the template's constants that are wanted, as the enum Constant of
// their indices and as the list kConstants of their names.
#define CONVTGEN_CONSTANTS(...)                                                \
  enum Constant : std::size_t { __VA_ARGS__, kConstantCount };                 \
  inline constexpr std::array<std::string_view, kConstantCount> kConstants = { \
      CONVTGEN_FOR_EACH(CONVTGEN_STRING, __VA_ARGS__)}

// CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, kCount, kOwnBytes, ...): the same for those that come after the
// `kCount` ones of another list.
#define CONVTGEN_MORE_CONSTANTS(Enum, kNames, kCount, ...)                                    \
  enum Enum : std::size_t { Enum##Before = kCount - 1, __VA_ARGS__, Enum##Count };            \
  inline constexpr std::array<std::string_view, std::size_t{Enum##Count} - kCount> kNames = { \
      CONVTGEN_FOR_EACH(CONVTGEN_STRING, __VA_ARGS__)}

#define CONVTGEN_MEMBER_DECLARED(member) CONVTGEN_MEMBER_IS member
#define CONVTGEN_MEMBER_IS(name, value) ::convtgen::MemberType<decltype(value)> name = value;
#define CONVTGEN_MEMBER_LISTED(member) CONVTGEN_MEMBER_OF member
#define CONVTGEN_MEMBER_OF(name, value) ::convtgen::BlockMember<Self>{#name, &Self::name},
#define CONVTGEN_MEMBER_NAMED(name) ::convtgen::BlockMember<Block>{#name, &Block::name},

// CONVTGEN_BLOCK(Block, (rows, 1), (flat, false), ...): a planner's block, whose members are the template's parameters
// of the same names, integers or flags, and what they are at first.
#define CONVTGEN_BLOCK(Name, ...)                                                \
  struct Name {                                                                  \
    bool operator==(const Name&) const = default;                                \
    [[nodiscard]] static constexpr auto members() {                              \
      using Self = Name;                                                         \
      return std::array{CONVTGEN_FOR_EACH(CONVTGEN_MEMBER_LISTED, __VA_ARGS__)}; \
    }                                                                            \
    CONVTGEN_FOR_EACH(CONVTGEN_MEMBER_DECLARED, __VA_ARGS__)                     \
  }

// CONVTGEN_MEMBERS(rows, flat, ...): those members of `Block` that a template has, where several share its type.
#define CONVTGEN_MEMBERS(...)                             \
  std::array {                                            \
    CONVTGEN_FOR_EACH(CONVTGEN_MEMBER_NAMED, __VA_ARGS__) \
  }

namespace convtgen {

/// Of a member of a block that is this at first.
template <typename Value>
using MemberType = std::conditional_t<std::is_same_v<std::remove_const_t<Value>, bool>, bool, std::int64_t>;

/// One list after the other.
template <typename T, std::size_t m, std::size_t n>
[[nodiscard]] constexpr std::array<T, m + n> joined(const std::array<T, m>& first, const std::array<T, n>& second) {
  return [&]<std::size_t... i, std::size_t... k>(std::index_sequence<i...>, std::index_sequence<k...>) {
    return std::array<T, m + n>{first[i]..., second[k]...};
  }(std::make_index_sequence<m>(), std::make_index_sequence<n>());
}

/// The index of a name in a list of constants that has it.
template <std::size_t n>
[[nodiscard]] consteval std::size_t index_of(const std::array<std::string_view, n>& names, std::string_view name) {
  std::size_t index = 0;
  while (names.at(index) != name) {
    ++index;
  }
  return index;
}

}  // namespace convtgen
