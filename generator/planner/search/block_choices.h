// The blocks that a planner tries, as the choices that they are made of.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "generator/support/error.h"

namespace convtgen {

/// Begins with one block or some. Each step makes of all blocks those of the next: in the order of loops in each other.
template <typename Block>
class BlockChoices {
 public:
  explicit BlockChoices(const Block& first) : blocks_{first} {}
  explicit BlockChoices(std::vector<Block> first) : blocks_(std::move(first)) {}

  /// Each block with each of these values of a member: a list, or what a function makes of the block.
  template <typename Value, typename Values>
  BlockChoices&& each(Value Block::* member, const Values& values) && {
    return std::move(*this).into([&](const Block& block, std::vector<Block>& out) {
      const auto add = [&](const auto& list) {
        for (const auto& value : list) {
          out.push_back(block);
          out.back().*member = value;
        }
      };
      if constexpr (std::invocable<const Values&, const Block&>) {
        add(values(block));
      } else {
        add(values);
      }
    });
  }
  template <typename Value>
  BlockChoices&& each(Value Block::* member, std::initializer_list<std::type_identity_t<Value>> values) && {
    return std::move(*this).template each<Value, std::initializer_list<Value>>(member, values);
  }
  /// Of two members together.
  BlockChoices&& each(std::int64_t Block::* one, std::int64_t Block::* other,
                      std::initializer_list<std::pair<std::int64_t, std::int64_t>> values) && {
    return std::move(*this).into([&](const Block& block, std::vector<Block>& out) {
      for (const auto& [first, second] : values) {
        out.push_back(block);
        out.back().*one = first;
        out.back().*other = second;
      }
    });
  }
  /// Each with 1 to `most`.
  BlockChoices&& up_to(std::int64_t Block::* member, std::int64_t most) && {
    return std::move(*this).into([&](Block block, std::vector<Block>& out) {
      for (block.*member = 1; block.*member <= most; ++(block.*member)) {
        out.push_back(block);
      }
    });
  }

  /// Those for which it returns true. It may choose members, of all that are left.
  template <typename F>
  BlockChoices&& keep(F is_kept) && {
    std::vector<Block> kept;
    for (Block& block : blocks_) {
      if (is_kept(block)) {
        kept.push_back(block);
      }
    }
    blocks_ = std::move(kept);
    return std::move(*this);
  }
  /// What `add(block, out)` adds for each.
  template <typename F>
  BlockChoices&& into(F add) && {
    std::vector<Block> next;
    for (const Block& block : blocks_) {
      add(block, next);
    }
    blocks_ = std::move(next);
    return std::move(*this);
  }
  /// The first ones of those that are equal.
  BlockChoices&& distinct() && {
    return std::move(*this).into([](const Block& block, std::vector<Block>& out) {
      if (std::ranges::find(out, block) == out.end()) {
        out.push_back(block);
      }
    });
  }

  operator std::vector<Block>() && { return std::move(blocks_); }
  /// Errors: no blocks, with these words.
  template <typename... Args>
  [[nodiscard]] Result<std::vector<Block>> or_fail(fmt::format_string<Args...> words, Args&&... args) && {
    return blocks_.empty() ? Result<std::vector<Block>>(fail(fmt::format(words, std::forward<Args>(args)...)))
                           : std::move(blocks_);
  }
  /// The same, which a function has.
  template <std::invocable F>
  [[nodiscard]] Result<std::vector<Block>> or_fail(F why_none) && {
    return blocks_.empty() ? Result<std::vector<Block>>(why_none()) : std::move(blocks_);
  }

 private:
  std::vector<Block> blocks_;
};

}  // namespace convtgen
