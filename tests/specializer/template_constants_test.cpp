// The constants that planners ask a template's program for: they have the values that the specializer finds, and plans
// have the layout that they say.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "generator/program/constants.h"
#include "generator/program/program_text.h"
#include "generator/specializer/globals.h"
#include "tests/end_to_end/random_layers.h"

namespace convtgen {
namespace {

using ::testing::HasSubstr;

/// What is known of a template.
struct Programs {
  Program program;
  ConstantProgram constants;
};
const std::map<std::string_view, Programs>& all_programs() {
  static const std::map<std::string_view, Programs> all = [] {
    std::map<std::string_view, Programs> read;
    for (const Template& known : templates()) {
      read.emplace(known.name,
                   Programs{read_program(known.program()).value(), ConstantProgram::read(known.program()).value()});
    }
    return read;
  }();
  return all;
}

/// Random layers, as many for each template, that it probably takes.
std::vector<Problem> random_problems(int each) {
  std::vector<Problem> out;
  testing::LayerSource source(20261201);
  constexpr std::array computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3};
  for (const Template& known : templates()) {
    for (int i = 0; i < each; ++i) {
      if (auto drawn = source.next(
              {.compute = computes[static_cast<std::size_t>(i) % computes.size()], .template_name = known.name})) {
        Layer layer = std::move(drawn->layer);
        if (known.direction != Direction::kForward) {
          layer.fuse.clear();
          layer.bias |= known.direction == Direction::kGradBias;
          layer.directions = {known.direction};
          const bool is_of_pixels = known.name == "grad_weight_pixels" || known.name == "tap_gemm";
          if (is_of_pixels && i % 2 == 0) {  // which take 16 bits alone, and channels last of any size
            layer.dtype = Dtype::kBf16;
            layer.compute = Compute::kBf16;
            layer.layout = Layout::kNhwc;
            layer.groups = known.name == "tap_gemm" ? 1 : layer.groups;
            layer.in_channels = layer.out_channels = layer.groups * 8 * (1 + i % 5);
          }
          if (known.name == "f32x3_grad_weight_pixels") {  // which takes few layers that are drawn
            layer.dtype = Dtype::kF32;
            layer.compute = Compute::kF32x3;
            layer.in_channels = layer.out_channels = layer.groups * 8 * (1 + i % 5);
            layer.batch = 1 + i % 3;
            for (Axis& axis : layer.axes) {
              axis.extent = axis.extent.value_or(3 + i + axis.padding.before + axis.padding.after);
            }
          }
          if (known.name == "grad_weight_rows" && i % 2 == 0) {  // which takes rows of whole 16 bytes alone
            layer.layout = Layout::kNchw;
            layer.axes[kWidth] = {.kernel = 3, .padding = 1, .extent = 8 * (1 + i)};
          }
        }
        out.push_back({std::move(layer), known.direction, target_named("sm_90a").value()});
      }
    }
  }
  return out;
}

/// Calls check(plan, globals) for all plans of the problems.
template <typename Check>
void for_each_plan(const std::vector<Problem>& problems, const Check& check) {
  for (const Problem& problem : problems) {
    SCOPED_TRACE(canonical_form(problem.layer));
    const auto plans = plan(problem);
    ASSERT_TRUE(plans) << plans.error().message;
    for (const Plan& each : *plans) {
      SCOPED_TRACE(each.template_name + ": " + each.summary);
      const auto globals = Globals::make(all_programs().at(each.template_name).program, each.parameters);
      ASSERT_TRUE(globals) << globals.error().message;
      check(each, *globals);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

std::int64_t value_in(const Globals& globals, std::string_view name) {
  const Value* value = globals.value(name);
  EXPECT_NE(value, nullptr) << name;
  return value == nullptr ? 0 : static_cast<std::int64_t>(wide(*value));
}

// Except where a function takes more steps than Constants take: the specializer remembers calls, and gets by with
// fewer.
TEST(TemplateConstants, HaveTheValuesThatTheSpecializerFinds) {
  std::map<std::string_view, int> plans;
  int compared = 0, ended = 0;
  for_each_plan(random_problems(60), [&](const Plan& plan, const Globals& globals) {
    const auto& [name, programs] = *all_programs().find(plan.template_name);
    const std::vector<std::string_view> names = programs.constants.constant_names();
    const auto values = constants_of(programs.constants, plan.parameters, names);
    ASSERT_TRUE(values) << values.error().message;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((*values)[i] == std::numeric_limits<std::int64_t>::max()) {
        ++ended;
      } else {
        EXPECT_EQ((*values)[i], value_in(globals, names[i])) << names[i];
        ++compared;
      }
    }
    ++plans[name];
  });
  for (const std::string_view name :
       {"direct", "direct_rows", "mma_rows", "shift_gemm", "f32x3_gemm", "roll_gemm", "halo_gemm", "overlap_gemm",
        "patch_gemm", "phase_gemm", "mma_phases", "direct_grad_input", "tap_gemm", "direct_grad_weight",
        "grad_weight_gemm", "grad_weight_rows", "grad_weight_pixels", "f32x3_grad_weight",
        "f32x3_grad_weight_pixels"}) {
    EXPECT_GT(plans[name], name == "patch_gemm" ? 25 : 50) << name;  // which has three of a layer at the most
    EXPECT_GT(all_programs().at(name).constants.constant_names().size(), 14U) << name;
  }
  EXPECT_LT(ended, compared / 1000);
}

/// Rows of 16 bytes that a thread of the kernel packs that packs the weights first.
std::int64_t packed_rows(const Plan& plan) {
  const KernelPlan& first = plan.launch.kernels.front();
  return first.suffix == "_pack" ? first.grid.axes.front().tile / 16 : 1;
}

// Names of constants by what plans call them.
TEST(TemplateConstants, AreTheLayoutOfPlans) {
  std::map<std::string_view, int> compared;
  for_each_plan(random_problems(60), [&](const Plan& plan, const Globals& globals) {
    const std::array<std::pair<std::string_view, std::int64_t>, 5> kOfPlan = {
        {{"kThreads", plan.launch.main().threads},
         {"kSharedBytes", plan.launch.main().shared_bytes},
         {"kPackedBytes", plan.launch.packed_bytes()},
         {"kPackedRows", packed_rows(plan)},
         {"kAlignment", plan.alignment}}};
    for (const auto& [name, value] : kOfPlan) {
      if (globals.value(name) != nullptr) {
        EXPECT_EQ(value_in(globals, name), value) << name;
        ++compared[name];
      }
    }
  });
  for (const std::string_view name : {"kThreads", "kSharedBytes", "kPackedBytes", "kPackedRows", "kAlignment"}) {
    EXPECT_GT(compared[name], 300) << name;
  }
}

/// A template whose program's text has `after` in the place of `before`: its plans for the layer.
struct Changed {
  std::string_view template_name;
  const char* layer;
  std::string_view before, after;
};
const Changed kChanged[] = {
    {"direct", "conv_transpose2d 8 -> 8; kernel 3; input 1x64x64", "(call ceil_div kStagedColumns 4) 4)",
     "(call ceil_div kStagedColumns 4) 8)"},
    {"direct_rows", "conv_transpose2d 8 -> 8; kernel 3; stride 2; input 1x64x64", "(* (/ kPlaneSums 8) 8) 4)",
     "(* (/ kPlaneSums 8) 8) 12)"},
    {"mma_rows", "conv_transpose2d 16 -> 16; kernel 3; stride 2; input 1x64x64; dtype f16; layout nhwc",
     "(* (/ kVectors 2) 2) 1)", "(* (/ kVectors 2) 2) 3)"},
    {"patch_gemm", "conv_transpose2d 256 -> 256; kernel 2; stride 2; input 100x14x14; dtype f16; layout nhwc",
     "kStageBytes (* kTilePixels kPixelBytes)", "kStageBytes (* kTilePixels 1024)"},
    {"phase_gemm", "conv_transpose2d 64 -> 3; kernel 4; stride 2; padding 1; input 8x64x64; dtype f16; layout nhwc",
     "kCopiedBytes (* (* P::tile_n kPitch) kPixelBytes)", "kCopiedBytes (* (* P::tile_n kPitch) 4096)"},
    {"mma_phases", "conv_transpose2d 64 -> 3; kernel 4; stride 2; padding 1; input 8x64x64; compute tf32",
     "kStagedRows (- (+ P::tile_h kReachH) 1)", "kStagedRows (- (+ P::tile_h kReachH) 0)"},
    {"roll_gemm", "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x64x128; compute tf32",
     "(call floor_mod (- 8 kStagedColumns) 32)", "(call floor_mod (- 9 kStagedColumns) 32)"},
    {"shift_gemm", "conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 8x32x32; compute tf32",
     "(== (% kThreadColumns 16) 0) 4 8) kPlane)", "(== (% kThreadColumns 16) 0) 4 9) kPlane)"},
    {"f32x3_gemm", "conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 8x32x32; compute f32x3",
     "(call floor_mod (- 4 kPlane) 16)", "(call floor_mod (- 5 kPlane) 16)"},
    {"halo_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc",
     "kUnitPitch (* 16 (+ kPixels", "kUnitPitch (* 16 (+ (+ kPixels 8)"},
    {"overlap_gemm",
     "conv_transpose2d 256 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; dtype f16; layout nhwc",
     "kStageBytes (+ kInputBytes", "kStageBytes (+ (+ kInputBytes 1024)"},
    {"tap_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc; "
     "directions grad_input",
     "kInputBytes (* P::block_m kSwizzle)", "kInputBytes (* (+ P::block_m 8) kSwizzle)"},
    {"grad_weight_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute tf32; directions "
     "grad_weight",
     "(call floor_mod (- 4 kWindowPixels) 32)", "(call floor_mod (- 5 kWindowPixels) 32)"},
    {"grad_weight_rows",
     "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x64x128; dtype f16; directions grad_weight",
     "(call ceil_div kWindowColumns kPack) 2) 2) 1)", "(call ceil_div kWindowColumns kPack) 2) 2) 3)"},
    {"grad_weight_pixels",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc; "
     "directions grad_weight",
     "(* kPlaneEnd kOutSwizzle) 128) 128)", "(* kPlaneEnd kOutSwizzle) 4096) 4096)"},
    {"f32x3_grad_weight",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; directions "
     "grad_weight",
     "kInputUnitPitch (call unit_pitch kInputPixels)", "kInputUnitPitch (call unit_pitch (+ kInputPixels 2))"},
    {"f32x3_grad_weight_pixels",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; directions "
     "grad_weight",
     "(* kPlaneEnd kOutSwizzle) 128) 128)", "(* kPlaneEnd kOutSwizzle) 4096) 4096)"},
};

// A template's pitch is known to its program alone: another one is another plan.
TEST(TemplateConstants, ThatChangeInTheProgramChangeThePlan) {
  for (const Changed& changed : kChanged) {
    SCOPED_TRACE(changed.template_name);
    const Template& known = *template_named(changed.template_name).value();
    std::string text(known.program());
    const std::size_t at = text.find(changed.before);
    ASSERT_NE(at, std::string::npos);
    const Layer layer = parse_layer(changed.layer).value();
    const Problem problem{layer, layer.directions.front(), target_named("sm_90a").value()};
    const Plan own = known.plans(problem, ConstantProgram::read(text).value()).value().front();
    EXPECT_EQ(own.launch.main().shared_bytes, known.plans(problem).value().front().launch.main().shared_bytes);
    text.replace(at, changed.before.size(), changed.after);
    const Plan other = known.plans(problem, ConstantProgram::read(text).value()).value().front();
    EXPECT_NE(other.launch.main().shared_bytes, own.launch.main().shared_bytes);
    const auto globals = Globals::make(read_program(text).value(), other.parameters);
    ASSERT_TRUE(globals) << globals.error().message;
    EXPECT_EQ(value_in(*globals, "kSharedBytes"), other.launch.main().shared_bytes);
  }
}

constexpr std::string_view kSmall = R"((program small
  (digest "")
  (parameter int a 1)
  (parameter int b 1)
  (parameter bool flag true)
  (type_parameter Element float)
  (file "small.cu")
  (function @1 constexpr int ceil_div
    (argument int a)
    (argument int b)
    (return @1 (/ (- (+ a b) 1) b)))
  (function @2 device int skipped
    (argument int a)
    (return @1 (call nothing a)))
  (function @3 constexpr int odd_numbers
    (argument int below)
    (declare @1 int count 0)
    (for @2 plain (declare @2 int i 0) (< i below) (++ i)
      (if @3 (== (% i 2) 0) (then
        (continue @3)))
      (do @4 (+= count 1)))
    (return @5 count))
  (alias @5 Element P::Element)
  (constant @6 int kQuotient (call ceil_div P::a P::b))
  (constant @7 int kOdd (call odd_numbers P::a))
  (constant @8 int kBytes (* P::a (cast int (sizeof Element))))
  (constant @9 "long long" kLarge (* (* (static_cast "long long" P::a) P::a) P::a))
  (constant @10 "unsigned int" kUnsigned (- P::b 2u))
  (constant @11 bool kChosen (&& P::flag (> P::a (? P::flag 3 kLarge))))
  (constant @12 float kReal 2.5f)
  (constant @13 int kOfReal (+ 1 kReal)))
)";

TEST(Constants, AreComputedAsCppDoes) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  const Parameters parameters = {
      {"a", std::int64_t{7}}, {"b", std::int64_t{1}}, {"flag", true}, {"Element", TypeName{"unsigned short"}}};
  constexpr std::array<std::string_view, 6> kNames = {"kQuotient", "kOdd", "kBytes", "kLarge", "kUnsigned", "kChosen"};
  EXPECT_EQ(constants_of(program, parameters, kNames).value(),
            (std::vector<std::int64_t>{7, 3, 14, 343, 4294967295, 1}));
  EXPECT_EQ(program.constant_names(), std::vector<std::string_view>(kNames.begin(), kNames.end()));
}

TEST(Constants, FollowTheParametersThatChange) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  constexpr std::array<std::string_view, 2> kChanging = {"b", "a"};
  constexpr std::array<std::string_view, 2> kWanted = {"kQuotient", "kOdd"};
  Constants constants =
      Constants::make(program, {{"flag", true}, {"Element", TypeName{"float"}}}, kChanging, kWanted).value();
  constants.set(1, 9);
  constants.set(0, 4);
  EXPECT_EQ(constants[0], 3);
  EXPECT_EQ(constants[1], 4);
  constants.set(0, 2);
  EXPECT_EQ(constants[0], 5);
  EXPECT_EQ(constants[1], 4);
  constants.set(1, 3);
  EXPECT_EQ(constants[0], 2);
  EXPECT_EQ(constants[1], 1);
}

// A block may be far too large: its planner sees that, and nothing overflows.
TEST(Constants, StopAtTheLargestIntegers) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  constexpr std::array<std::string_view, 1> kChanging = {"a"};
  constexpr std::array<std::string_view, 3> kWanted = {"kLarge", "kBytes", "kOdd"};
  Constants constants = Constants::make(program, {{"Element", TypeName{"double"}}}, kChanging, kWanted).value();
  constants.set(0, std::int64_t{1} << 40);
  EXPECT_EQ(constants[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(constants[1], std::int64_t{1} << 43);
  EXPECT_EQ(constants[2], std::numeric_limits<std::int64_t>::max());  // more steps than are taken
  constants.set(0, -(std::int64_t{1} << 40));
  EXPECT_LT(constants[0], -(std::int64_t{1} << 62));
}

TEST(Constants, NamesThatTheProgramLacksAreErrors) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  constexpr std::array<std::string_view, 1> kNothing = {"kNothing"};
  constexpr std::array<std::string_view, 1> kReal = {"kReal"};
  constexpr std::array<std::string_view, 1> kOfReal = {"kOfReal"};
  constexpr std::array<std::string_view, 1> kFlag = {"flag"};
  EXPECT_THAT(constants_of(program, {}, kNothing).error().message,
              HasSubstr("the template small has no constant 'kNothing'"));
  EXPECT_THAT(constants_of(program, {}, kReal).error().message, HasSubstr("'kReal' of the template small"));
  EXPECT_THAT(constants_of(program, {}, kOfReal).error().message, HasSubstr("kReal: it is no integer"));
  EXPECT_THAT(constants_of(program, {{"c", true}}, kFlag).error().message, HasSubstr("no parameter 'c'"));
  EXPECT_THAT(Constants::make(program, {}, kNothing, {}).error().message, HasSubstr("no parameter 'kNothing'"));
  EXPECT_THAT(Constants::make(program, {{"Element", TypeName{"Stage"}}}, {}, {}).error().message,
              HasSubstr("'Stage' is no scalar type"));
  EXPECT_FALSE(ConstantProgram::read("(program"));
}

}  // namespace
}  // namespace convtgen
