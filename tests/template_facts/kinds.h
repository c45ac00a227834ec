// The kinds of plans that the net distinguishes (tests/end_to_end/net.h).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/planner/plan/plan.h"

namespace convtgen::testing {

/// The words of one plan. A template's facts add those of its own.
class Kinds {
 public:
  Kinds(const Layer& of_layer, const Plan& of_plan)
      : layer(of_layer),
        plan(of_plan),
        rows(of_layer.axes[kHeight]),
        columns(of_layer.axes[kWidth]),
        group_in(of_layer.in_channels / of_layer.groups),
        group_out(of_layer.out_channels / of_layer.groups) {}

  const Layer& layer;
  const Plan& plan;
  const Axis& rows;
  const Axis& columns;
  std::int64_t group_in, group_out;  // channels of a group

  [[nodiscard]] std::int64_t integer(std::string_view name) const {
    return std::get<std::int64_t>(plan.parameters.find(name)->second);
  }
  [[nodiscard]] bool flag(std::string_view name) const { return std::get<bool>(plan.parameters.find(name)->second); }
  [[nodiscard]] std::string type(std::string_view name) const {
    return std::get<TypeName>(plan.parameters.find(name)->second).spelling;
  }

  void add(std::string kind) { words_.push_back(std::move(kind)); }
  /// "store 4"
  void add_value(std::string_view name, std::string_view parameter) {
    add(fmt::format("{} {}", name, integer(parameter)));
  }
  /// "groups" or "not groups"
  void is(bool value, std::string_view name) { add(fmt::format("{}{}", value ? "" : "not ", name)); }

  /// Of channels that come in k-blocks.
  void k_blocks() {
    is(integer("block_k") < group_in, "several k-blocks");
    is(group_in % integer("block_k") != 0, "a k-block in part");
  }
  /// Of blocks with so many output channels.
  void channel_tiles(std::int64_t block) {
    is(block < group_out, "several channel tiles");
    is(group_out % block != 0, "channels beyond");
  }
  /// Whether the taps of some phase are fewer than those of others.
  [[nodiscard]] bool has_uneven_phases() const {
    return rows.kernel % rows.stride != 0 || columns.kernel % columns.stride != 0;
  }

  [[nodiscard]] std::vector<std::string> words() && { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

}  // namespace convtgen::testing
