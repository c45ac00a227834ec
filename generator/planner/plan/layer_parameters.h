// The static parameters that say what the layer is, which all templates have.
#pragma once

#include <initializer_list>
#include <string_view>

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// Kernel, strides and so on, channels, sizes (-1 where they are open), layouts, bias and fuse chain. Types are the
/// templates' own.
[[nodiscard]] Parameters layer_parameters(const Layer& layer);
/// The same and `weights_exchanged`, which is false: what templates of products on tensor cores have.
[[nodiscard]] Parameters product_parameters(const Layer& layer);

/// What templates that take three axes have besides: the axis of depth. With fewer axes there is one plane.
[[nodiscard]] Parameters with_depth(Parameters parameters, const Layer& layer);

/// Parameters with more of them.
[[nodiscard]] Parameters with(Parameters parameters, std::initializer_list<Parameters::value_type> more);

/// What templates that take `fuse_input` have besides: how many steps it has.
[[nodiscard]] Parameters with_fuse_input(Parameters parameters, const Layer& layer);

/// The same and `groups`, the axis of depth and the input's strides: what those of them have that take three axes, and
/// serve strided gradients of the input.
[[nodiscard]] Parameters volume_parameters(const Layer& layer);

/// What templates that take slices of larger tensors have besides: the channels of the tensors of x and y. `grad_bias`
/// reads grad_y alone.
[[nodiscard]] Parameters with_slices(Parameters parameters, const Layer& layer, Direction direction);

/// Parameters with that many elements which are stored together.
[[nodiscard]] Parameters with_store(Parameters parameters, std::int64_t elements);

/// Whether it is a parameter of gradients of the input alone, with the value that all forward layers have.
[[nodiscard]] bool is_forward_value(std::string_view name, const ParameterValue& value);

/// Whether it is one of with_slices(). They follow from the layer: neither symbols nor records have them.
[[nodiscard]] bool is_slice(std::string_view name);

/// Whether it is a parameter of the axis of depth, with the value that all layers of one or two axes have.
[[nodiscard]] bool is_flat_value(std::string_view name, const ParameterValue& value);

/// Whether it is a parameter of `fuse_input`, with the value that all layers without it have.
[[nodiscard]] bool is_plain_input_value(std::string_view name, const ParameterValue& value);

/// The plan's parameter of this name, which it must have.
[[nodiscard]] std::int64_t integer_of(const Plan& plan, std::string_view name);
[[nodiscard]] bool flag_of(const Plan& plan, std::string_view name);

}  // namespace convtgen
