// What a planner chooses of a template, its block, as the template's parameters; and the constants that the template's
// program computes from them. All that a planner knows of a template's layout it asks here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/plan/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// A member of a planner's Block, which is the template's parameter of that name.
template <typename Block>
struct BlockMember {
  std::string_view name;
  std::int64_t Block::* integer = nullptr;
  bool Block::* flag = nullptr;

  constexpr BlockMember(std::string_view of, std::int64_t Block::* member) : name(of), integer(member) {}
  constexpr BlockMember(std::string_view of, bool Block::* member) : name(of), flag(member) {}
};

/// Adds a block's members to a plan's parameters.
template <typename Block>
void add_block(Parameters& parameters, const Block& block, std::span<const BlockMember<Block>> members) {
  for (const BlockMember<Block>& member : members) {
    parameters.emplace(member.name, member.flag != nullptr ? ParameterValue(block.*member.flag)
                                                           : ParameterValue(block.*member.integer));
  }
}

/// The block of a plan; it must have all members.
template <typename Block>
[[nodiscard]] Block block_of(const Plan& plan, std::span<const BlockMember<Block>> members) {
  Block block;
  for (const BlockMember<Block>& member : members) {
    if (member.flag != nullptr) {
      block.*member.flag = flag_of(plan, member.name);
    } else {
      block.*member.integer = integer_of(plan, member.name);
    }
  }
  return block;
}

/// The constants of a template for one layer and changing blocks.
template <typename Block>
class BlockConstants {
 public:
  /// `layer` are the parameters that the block is no part of. `names` are the constants that are asked for; they and
  /// the members must live as long as this. Errors: as Constants::make() has them.
  [[nodiscard]] static Result<BlockConstants> make(const ConstantProgram& program, const Parameters& layer,
                                                   std::span<const BlockMember<Block>> members,
                                                   std::span<const std::string_view> names) {
    std::vector<std::string_view> changing;
    for (const BlockMember<Block>& member : members) {
      changing.push_back(member.name);
    }
    auto constants = Constants::make(program, layer, changing, names);
    if (!constants) {
      return std::unexpected(std::move(constants.error()));
    }
    return BlockConstants(*std::move(constants), members);
  }

  /// The constants for this block, by their indices in `names`.
  [[nodiscard]] Constants& of(const Block& block) {
    if (block != last_) {  // planners ask for many constants of each block
      set(block);
    }
    return constants_;
  }

 private:
  BlockConstants(Constants constants, std::span<const BlockMember<Block>> members)
      : constants_(std::move(constants)), members_(members) {
    set(last_);
  }

  // Inlined, GCC 12 takes the members of a block without flags for uninitialised.
  [[gnu::noinline]] void set(const Block& block) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const BlockMember<Block>& member = members_[i];
      constants_.set(i, member.flag != nullptr ? std::int64_t{block.*member.flag} : block.*member.integer);
    }
    last_ = block;
  }

  Constants constants_;
  std::span<const BlockMember<Block>> members_;
  Block last_;  // whose members the constants have
};

}  // namespace convtgen
