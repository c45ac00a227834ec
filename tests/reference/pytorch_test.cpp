// The definition against results that PyTorch made (make_pytorch_results.py).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "generator/language/language.h"
#include "runtime/reference/definition.h"
#include "runtime/reference/fuse.h"
#include "runtime/reference/numbers.h"

namespace convtgen {
namespace {

const nlohmann::json& results() {
  static const nlohmann::json json = nlohmann::json::parse(std::ifstream(CONVTGEN_PYTORCH_RESULTS));
  return json;
}

/// NaN and infinities are strings in the file.
double number(const nlohmann::json& json) {
  return json.is_string() ? std::stod(json.get<std::string>()) : json.get<double>();
}

/// values() of the script.
std::vector<double> values(std::int64_t count, std::uint32_t salt) {
  std::vector<double> numbers;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); ++i) {
    std::uint32_t bits = (i + 1) * 2654435761U + salt * 2246822519U;
    bits = (bits ^ bits >> 15) * 2246822519U;
    numbers.push_back((static_cast<double>(bits >> 24) - 128) / 64);
  }
  return numbers;
}

HostArray array(Dtype dtype, const std::vector<std::int64_t>& shape, std::uint32_t salt) {
  HostArray made = make_array(dtype, shape);
  return make_array(dtype, shape, values(made.size(), salt));
}

/// The same numbers for weights in the other order.
HostArray turned(const Layer& layer, const Layer& to, const HostArray& weight) {
  HostArray result = make_array(weight.dtype, weight_shape(to));
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    result.set(weight_offset(to, weight_position(layer, i)), weight.at(i));
  }
  return result;
}

TEST(PyTorch, LayersAgreeWithTheDefinition) {
  std::map<int, int> of_dimensions;
  int changed_orders = 0;  // of layers whose weights lie differently in the two
  for (const nlohmann::json& entry : results().at("layers")) {
    const std::string text = entry.at("layer");
    SCOPED_TRACE(text);
    const auto layer = parse_layer(text);
    ASSERT_TRUE(layer) << (layer ? "" : layer.error().front().message);
    const Shape shape = *shape_of(*layer, *known_sizes(*layer));
    LayerInputs inputs{array(layer->dtype, input_shape(*layer, shape), 1), array(layer->dtype, weight_shape(*layer), 2),
                       std::nullopt};
    if (layer->bias) {
      inputs.bias = array(layer->dtype, {layer->out_channels}, 3);
    }
    ASSERT_TRUE(check_inputs(*layer, shape, inputs));

    auto wanted_shape = output_shape(*layer, shape);
    if (layer->dimensions == 1) {
      wanted_shape.erase(wanted_shape.begin() + (layer->layout == Layout::kNhwc ? 1 : 2));
    }
    ASSERT_EQ(entry.at("y_shape").get<std::vector<std::int64_t>>(), wanted_shape);
    const Definition definition = define_all(*layer, shape, inputs);
    // PyTorch gives the same results whatever the memory format of its weights.
    Layer last = *layer;
    last.weight_layout = WeightLayout::kChannelsLast;
    LayerInputs last_inputs = inputs;
    last_inputs.weight = turned(*layer, last, inputs.weight);
    changed_orders += last_inputs.weight.bytes == inputs.weight.bytes ? 0 : 1;
    ASSERT_EQ(define_all(last, shape, last_inputs).sum, definition.sum);
    ASSERT_EQ(entry.at("y").size(), definition.sum.size());
    for (std::size_t i = 0; i < definition.sum.size(); ++i) {
      const double want = number(entry.at("y")[i]);
      ASSERT_NEAR(apply_fuse(layer->fuse, definition.sum[i]), want, 1e-14 * (std::abs(want) + definition.magnitude[i]))
          << "output " << i;
    }
    ++of_dimensions[layer->dimensions];
  }
  EXPECT_GE(of_dimensions[1] + of_dimensions[2], 50);
  EXPECT_GE(of_dimensions[3], 100);
  EXPECT_GE(changed_orders, 50);
}

TEST(PyTorch, GradientsAgreeWithTheDefinition) {
  const auto gradients = nlohmann::json::parse(std::ifstream(CONVTGEN_PYTORCH_GRADIENTS));
  std::map<Role, int> compared;
  for (const nlohmann::json& entry : gradients.at("layers")) {
    const std::string text = entry.at("layer");
    SCOPED_TRACE(text);
    const Layer layer = parse_layer(text).value();
    const Shape shape = *shape_of(layer, *known_sizes(layer));
    LayerInputs inputs{.x = array(layer.dtype, input_shape(layer, shape), 1),
                       .weight = array(layer.dtype, weight_shape(layer), 2),
                       .grad_y = array(layer.dtype, output_shape(layer, shape), 4)};
    for (const Role role : {Role::kGradX, Role::kGradWeight, Role::kGradBias}) {
      if (role == Role::kGradBias && !layer.bias) {
        continue;
      }
      const nlohmann::json& wanted = entry.at(std::string(name_of(role)));
      const Definition definition = define_all(layer, shape, inputs, role);
      ASSERT_EQ(wanted.size(), definition.sum.size());
      for (std::size_t i = 0; i < definition.sum.size(); ++i) {
        ASSERT_NEAR(definition.sum[i], wanted[i].get<double>(), 1e-14 * definition.magnitude[i])
            << name_of(role) << " " << i;
      }
      ++compared[role];
    }
  }
  EXPECT_GE(compared[Role::kGradX], 150);
  EXPECT_GE(compared[Role::kGradWeight], 150);
  EXPECT_GE(compared[Role::kGradBias], 50);
}

TEST(PyTorch, ActivationsAgreeAtSpecialValues) {
  const nlohmann::json& points = results().at("activation_inputs");
  std::set<std::string> names;
  for (const nlohmann::json& entry : results().at("activations")) {
    const nlohmann::json& step = entry.at("step");
    SCOPED_TRACE(step.dump());
    names.insert(step[0]);
    Activation activation;
    activation.kind = activation_named(step[0].get<std::string>()).value();
    ASSERT_EQ(step.size() - 1, static_cast<std::size_t>(argument_count(activation.kind)));
    activation.a = step.size() > 1 ? step[1].get<double>() : 0;
    activation.b = step.size() > 2 ? step[2].get<double>() : 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double point = number(points[i]);
      const double want = number(entry.at("y")[i]);
      const double got = activate(activation, point);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << "at " << point << " is " << got;
      } else if (std::isinf(want)) {
        EXPECT_EQ(got, want) << "at " << point;
      } else {
        EXPECT_NEAR(got, want, 2e-15 * std::max(std::abs(want), std::min(std::abs(point), 1.0))) << "at " << point;
      }
    }
  }
  EXPECT_EQ(names.size(), all_activations().size());
}

TEST(PyTorch, RoundingTo16BitsAgrees) {
  const nlohmann::json& floats = results().at("floats");
  ASSERT_GE(floats.size(), 80U);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const double value = number(floats[i]);
    EXPECT_EQ(encode_f16(value), results().at("f16_bits")[i].get<int>()) << value;
    EXPECT_EQ(encode_bf16(value), results().at("bf16_bits")[i].get<int>()) << value;
  }
}

}  // namespace
}  // namespace convtgen
