// Gradients in tf32: NaNs and infinities of operands are in all elements that the definition has them in, also where
// all that makes a NaN one are the 13 low bits, which products ignore, or where rounding would carry over its exponent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/layer_arrays.h"
#include "runtime/reference/run_layer.h"
#include "tests/planner/problems.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

// NaNs and infinities, each of another image or channel.
constexpr std::array<std::uint32_t, 7> kBits = {0x7f800001, 0x7f801fff, 0x7fffffff, 0xff800001,
                                                0xffffffff, 0x7f800000, 0xff800000};

class Tf32Gradients : public ::testing::TestWithParam<OfTemplate<NotFinite>> {
 protected:
  Tf32Gradients() : layer(parse_layer(fmt::format("conv_transpose2d {}; compute tf32", GetParam().fact.rest)).value()) {
    layer.directions = {direction()};
    sizes = {layer.batch.value_or(7), {layer.axes[kHeight].extent.value_or(6), layer.axes[kWidth].extent.value_or(7)}};
    shape = shape_of(layer, sizes).value();
    inputs = random_inputs(layer, shape, 7, direction());
    const Problem problem{layer, direction(), target_named("sm_90a").value()};
    const std::vector<Plan> plans = plan(problem).value();
    const auto found = std::ranges::find_if(plans, [](const Plan& each) {
      const auto is = [&]<class Value>(const char* name, std::optional<Value> value) {
        return !value || std::get<Value>(each.parameters.at(name)) == *value;
      };
      return each.template_name == GetParam().template_name && is("bulk", GetParam().fact.bulk) &&
             is("copy_bytes", GetParam().fact.copy_bytes) &&
             (!GetParam().fact.by_copies || (integer(each, "row_stages") > 0) == *GetParam().fact.by_copies);
    });
    EXPECT_NE(found, plans.end()) << "the planner has no such plan";
    loaded = load_layer(*device, problem, *found).value();
  }

  static Direction direction() { return gradient_of(GetParam().template_name); }

  void set_bits(Role role, std::int64_t index, std::uint32_t bits) {
    HostArray array = *inputs.of(role);
    std::memcpy(&array.bytes[static_cast<std::size_t>(index) * sizeof bits], &bits, sizeof bits);
    inputs.set(role, std::move(array));
  }

  /// Sets an element of an image's channel each. Returns the channels.
  std::vector<std::int64_t> set_in_images(Role role) {
    const Images images = images_of(shape, role);
    std::vector<std::int64_t> channels;
    for (std::size_t i = 0; i < kBits.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i);
      channels.push_back(n * 3 % images.channels);
      const std::int64_t row = n % images.extents[kHeight];
      const std::int64_t column = (n * 5 + 1) % images.extents[kWidth];
      set_bits(role, offset_of(layer, shape, role, {.n = n, .c = channels.back(), .at = {0, row, column}}), kBits[i]);
    }
    return channels;
  }

  /// Runs a call, and holds it to the definition. Besides what that says, an element may be NaN where
  /// `meets_zeros`: what is not finite is multiplied with zeros around an image there.
  void expect_defined(const std::function<bool(Role role, const ElementPosition& position)>& meets_zeros) {
    const LayerCall call = make_call(*device, *loaded, sizes, inputs).value();
    const Result<void> run = run_call(*device, *loaded, call);
    ASSERT_TRUE(run) << run.error().message;
    for (const Role role : roles_of(layer, direction()).written) {
      const Definition definition = define_all(layer, shape, inputs, role);
      const HostArray got = read_output(*device, layer, call, role).value();
      std::int64_t special = 0;
      for (std::int64_t i = 0; i < got.size(); ++i) {
        const double want = definition.sum[static_cast<std::size_t>(i)];
        const ElementPosition position = position_of(layer, shape, role, i);
        special += std::isfinite(want) ? 0 : 1;
        const bool is_right = std::isnan(want)   ? std::isnan(got.at(i))
                              : std::isinf(want) ? got.at(i) == want
                                                 : std::isfinite(got.at(i));
        ASSERT_TRUE(is_right || (std::isnan(got.at(i)) && meets_zeros(role, position)))
            << position_text(layer, role, position) << " is " << got.at(i) << ", not " << want;
      }
      EXPECT_TRUE(special > 0 || role == Role::kGradBias) << name_of(role);  // which does not depend on x
      EXPECT_LT(special, got.size()) << name_of(role);
    }
  }

  /// Of grad_y in grad_input, x and grad_y in grad_weight; and weights.
  void expect_of_images(Role role) {
    const std::vector<std::int64_t> channels = set_in_images(role);
    expect_defined([&](Role written, const ElementPosition& position) {
      const std::int64_t channel = role == Role::kX ? position.n : position.c;
      return written == Role::kGradWeight && std::ranges::count(channels, channel) > 0;
    });
  }
  void expect_of_weights() {
    for (std::size_t i = 0; i < kBits.size(); ++i) {  // of tap (0, 0)
      const auto ci = static_cast<std::int64_t>(i);
      set_bits(Role::kWeight, weight_offset(layer, {.in = ci, .out = ci % layer.out_channels, .tap = 0}), kBits[i]);
    }
    const auto count = static_cast<std::int64_t>(kBits.size());
    expect_defined([&](Role, const ElementPosition& position) { return position.c < count; });
  }

  Layer layer;
  InputSizes sizes;
  Shape shape;
  LayerInputs inputs;
  std::unique_ptr<HostDevice> device = open_host_device(HostOptions{.workers = 1}).value();
  std::optional<LoadedLayer> loaded;
};

TEST_P(Tf32Gradients, HaveThoseOfTheFirstOperand) {
  expect_of_images(direction() == Direction::kGradInput ? Role::kGradY : Role::kX);
}
TEST_P(Tf32Gradients, HaveThoseOfTheSecondOperand) {
  direction() == Direction::kGradInput ? expect_of_weights() : expect_of_images(Role::kGradY);
}

INSTANTIATE_TEST_SUITE_P(Plans, Tf32Gradients, ::testing::ValuesIn(all_of(&TemplateFacts::nan_gradients)),
                         [](const auto& info) { return name_of_fact(info); });

}  // namespace
}  // namespace convtgen::testing
