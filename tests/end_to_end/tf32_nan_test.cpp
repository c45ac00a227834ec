// tf32: a NaN is NaN in all outputs that it reaches, also where all that makes it one are the 13 low bits, which
// products ignore, or where rounding would carry over its exponent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

constexpr std::array<std::uint32_t, 5> kNans = {0x7f800001, 0x7f801fff, 0x7fffffff, 0xff800001, 0xffffffff};

void set_bits(HostArray& array, std::int64_t index, std::uint32_t bits) {
  std::memcpy(&array.bytes[static_cast<std::size_t>(index) * sizeof bits], &bits, sizeof bits);
}

class NanInTf32 : public ::testing::TestWithParam<OfTemplate<NotFinite>> {
 protected:
  NanInTf32()
      : layer(
            parse_layer(fmt::format("conv_transpose2d {}; {}", GetParam().fact.rest, GetParam().fact.compute)).value()),
        sizes(known_sizes(layer).value()),
        inputs(random_inputs(layer, shape_of(layer, sizes).value(), 7)) {
    const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
    const std::vector<Plan> plans = plan(problem).value();
    const auto found = std::ranges::find_if(plans, [](const Plan& each) {
      const auto is = [&]<class Value>(const char* name, std::optional<Value> value) {
        return !value || std::get<Value>(each.parameters.at(name)) == *value;
      };
      return each.template_name == GetParam().template_name && is("bulk", GetParam().fact.bulk) &&
             is("ping_pong", GetParam().fact.ping_pong) && is("copy_bytes", GetParam().fact.copy_bytes);
    });
    EXPECT_NE(found, plans.end()) << "the planner has no such plan";
    loaded = load_layer(*device, problem, *found).value();
  }

  /// Of each output, whether it is NaN; none is infinite.
  std::vector<bool> nans_of_outputs() {
    const LayerCall call = make_call(*device, *loaded, sizes, inputs).value();
    const Result<void> run = run_call(*device, *loaded, call);
    EXPECT_TRUE(run) << run.error().message;
    const HostArray y = read_output(*device, layer, call).value();
    std::vector<bool> nans;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      nans.push_back(std::isnan(y.at(i)));
      EXPECT_FALSE(std::isinf(y.at(i))) << "output " << i;
    }
    return nans;
  }

  /// Where an element of x (channels, rows, columns) or of y lies.
  [[nodiscard]] std::int64_t place(const std::vector<std::int64_t>& shape, std::int64_t image, std::int64_t channel,
                                   std::int64_t row, std::int64_t column) const {
    return layer.layout == Layout::kNhwc ? ((image * shape[1] + row) * shape[2] + column) * shape[3] + channel
                                         : ((image * shape[1] + channel) * shape[2] + row) * shape[3] + column;
  }

  Layer layer;
  InputSizes sizes;
  LayerInputs inputs;
  std::unique_ptr<HostDevice> device = open_host_device(HostOptions{.workers = 1}).value();
  std::optional<LoadedLayer> loaded;
};

TEST_P(NanInTf32, ReachesItsOutputs) {
  const std::vector<std::int64_t> x_shape = inputs.x.shape;
  const Shape shape = shape_of(layer, sizes).value();
  const std::vector<std::int64_t> y_shape = output_shape(layer, shape);
  std::vector<bool> want(static_cast<std::size_t>(shape.output_elements));
  for (std::size_t i = 0; i < kNans.size(); ++i) {
    const auto image = static_cast<std::int64_t>(i);
    const std::int64_t channel = image * 3 % layer.in_channels;
    const std::int64_t row = image % sizes.extents[kHeight];
    const std::int64_t column = (image * 5 + 1) % sizes.extents[kWidth];
    set_bits(inputs.x, place(x_shape, image, channel, row, column), kNans[i]);
    for (std::int64_t kh = 0; kh < layer.axes[kHeight].kernel; ++kh) {
      for (std::int64_t kw = 0; kw < layer.axes[kWidth].kernel; ++kw) {
        const std::int64_t oy = row * layer.axes[kHeight].stride - layer.axes[kHeight].padding.before + kh;
        const std::int64_t ox = column * layer.axes[kWidth].stride - layer.axes[kWidth].padding.before + kw;
        for (std::int64_t co = 0; co < layer.out_channels; ++co) {
          if (oy >= 0 && oy < shape.out[kHeight] && ox >= 0 && ox < shape.out[kWidth]) {
            want[static_cast<std::size_t>(place(y_shape, image, co, oy, ox))] = true;
          }
        }
      }
    }
  }
  EXPECT_EQ(nans_of_outputs(), want);
}

// Of templates whose products have zeros where a phase has no tap, which infinities would make NaN: positive weights
// and infinities make infinite outputs, and those alone.
class InfinityInTf32 : public NanInTf32 {};

TEST_P(InfinityInTf32, ReachesItsOutputsAlone) {
  for (std::int64_t i = 0; i < inputs.weight.size(); ++i) {
    inputs.weight.set(i, std::abs(inputs.weight.at(i)) + 0.1);
  }
  const Shape shape = shape_of(layer, sizes).value();
  const std::int64_t rows = sizes.extents[kHeight], columns = sizes.extents[kWidth];
  for (const std::int64_t row : {std::int64_t{0}, rows - 1}) {
    for (const std::int64_t column : {std::int64_t{0}, columns - 1}) {
      inputs.x.set(place(inputs.x.shape, 0, row % layer.in_channels, row, column),
                   std::numeric_limits<double>::infinity());
    }
  }
  const LayerCall call = make_call(*device, *loaded, sizes, inputs).value();
  const Result<void> run = run_call(*device, *loaded, call);
  ASSERT_TRUE(run) << run.error().message;
  const HostArray y = read_output(*device, layer, call).value();
  const std::vector<std::int64_t> y_shape = output_shape(layer, shape);
  // Whether an input at an end reaches an output along an axis.
  const auto reaches = [&](const Axis& axis, std::int64_t size, std::int64_t out) {
    const std::int64_t from_end = out + axis.padding.before - (size - 1) * axis.stride;
    return out + axis.padding.before < axis.kernel || (from_end >= 0 && from_end < axis.kernel);
  };
  for (std::int64_t image = 0; image < sizes.batch; ++image) {
    for (std::int64_t co = 0; co < layer.out_channels; ++co) {
      for (std::int64_t oy = 0; oy < shape.out[kHeight]; ++oy) {
        for (std::int64_t ox = 0; ox < shape.out[kWidth]; ++ox) {
          const double got = y.at(place(y_shape, image, co, oy, ox));
          const bool want =
              image == 0 && reaches(layer.axes[kHeight], rows, oy) && reaches(layer.axes[kWidth], columns, ox);
          EXPECT_TRUE(want ? std::isinf(got) && got > 0 : std::isfinite(got))
              << fmt::format("channel {} at {}x{}: {}", co, oy, ox, got);
        }
      }
    }
  }
}

// Besides what the definition says, a NaN of a weight also reaches outputs of its channel whose input lies outside of
// the image.
TEST_P(NanInTf32, OfAWeightReachesItsOutputs) {
  const Shape shape = shape_of(layer, sizes).value();
  const std::vector<std::int64_t> y_shape = output_shape(layer, shape);
  const std::int64_t taps = tap_count(layer);
  for (std::size_t i = 0; i < kNans.size(); ++i) {
    const auto co = static_cast<std::int64_t>(i);
    set_bits(inputs.weight, (co % layer.in_channels * layer.out_channels + co) * taps, kNans[i]);  // of tap (0, 0)
  }
  const std::vector<bool> got = nans_of_outputs();
  for (std::int64_t image = 0; image < sizes.batch; ++image) {
    for (std::int64_t co = 0; co < layer.out_channels; ++co) {
      for (std::int64_t iy = 0; iy < sizes.extents[kHeight]; ++iy) {
        for (std::int64_t ix = 0; ix < sizes.extents[kWidth]; ++ix) {
          const std::int64_t oy = iy * layer.axes[kHeight].stride - layer.axes[kHeight].padding.before;
          const std::int64_t ox = ix * layer.axes[kWidth].stride - layer.axes[kWidth].padding.before;
          if (oy >= 0 && ox >= 0) {
            const bool is_nan = got[static_cast<std::size_t>(place(y_shape, image, co, oy, ox))];
            EXPECT_EQ(is_nan, co < static_cast<std::int64_t>(kNans.size()))
                << fmt::format("channel {} at {}x{}", co, oy, ox);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, NanInTf32, ::testing::ValuesIn(all_of(&TemplateFacts::nans)),
                         [](const auto& info) { return name_of_fact(info); });
INSTANTIATE_TEST_SUITE_P(Plans, InfinityInTf32, ::testing::ValuesIn(all_of(&TemplateFacts::infinities)),
                         [](const auto& info) { return name_of_fact(info); });

}  // namespace
}  // namespace convtgen::testing
