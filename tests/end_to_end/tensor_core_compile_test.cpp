// Plans for tensor cores, of direct_rows, mma_rows and those that records ship, as ptxas sees them: it tells what it
// makes slow, registers that it keeps in memory and products that it runs one by one. What it does not tell is looked
// for in the machine code. A run compiles a sample of them (tests/sample/sample.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "generator/language/language.h"
#include "generator/planner/shipped_records.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_search.h"
#include "tests/end_to_end/compiled_plan.h"
#include "tests/end_to_end/machine_code.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen {
namespace {

std::vector<NamedLayer> layers_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_file(text.str()).value();
}

struct Mode {
  const char* name;
  Dtype dtype;
  Compute compute;
  Layout layout;
};

struct Case {
  std::string name;
  Problem problem;
  std::string template_name;
  std::optional<Plan> plan;  // if it is made already; else the problem's first
};

/// Every plan that a record ships.
std::vector<Case> shipped_cases() {
  static const std::regex name(R"re("template": ?"(\w+)")re");
  std::vector<Case> out;
  for (const std::string_view file : shipped_files()) {
    const std::vector<TuningRecord> records = parse_records(file).value();
    for (const TuningRecord& record : records) {
      Problem problem{parse_layer(record.layer).value(), record.direction, target_named(record.architecture).value()};
      problem.target.chip = record.chip;
      // The planner takes it (shipped_records_test): most of these plans are not drawn, and to plan takes long.
      std::smatch found;
      const std::string& recorded = record.measured.front().plan;
      if (!std::regex_search(recorded, found, name)) {
        throw std::runtime_error("a plan without a template: " + recorded);
      }
      out.push_back({fmt::format("number_{}", out.size() + 1), std::move(problem), found[1], std::nullopt});
    }
  }
  return out;
}

/// The template's first `most` plans for each of the benchmark's layers, or for those that are named, of it or of those
/// that no record is shipped for. Layers with a shipped record are left out, unless `recorded` is set: for a template
/// that no record names yet.
std::vector<Case> cases(std::string_view template_name, const Mode& mode, const std::vector<std::string>& names = {},
                        int most = 1, bool recorded = false, Direction direction = Direction::kForward) {
  std::vector<Case> out;
  std::vector<NamedLayer> layers = layers_of(CONVTGEN_BENCHMARK_LAYERS);
  if (!names.empty()) {
    std::ranges::move(layers_of(CONVTGEN_OUTSIDE_LAYERS), std::back_inserter(layers));
  }
  for (const NamedLayer& named : layers) {
    if (!names.empty() && std::ranges::find(names, named.name) == names.end()) {
      continue;
    }
    Problem problem{named.layer, direction, target_named("sm_90a").value()};
    problem.layer.directions = {direction};
    problem.layer.dtype = mode.dtype;
    problem.layer.compute = mode.compute;
    problem.layer.layout = mode.layout;
    if (!recorded && shipped_record(problem)) {
      continue;
    }
    const std::vector<Plan> plans = plan(problem).value();
    int taken = 0;
    for (const Plan& each : plans) {
      if (each.template_name == template_name && taken < most) {
        out.push_back({fmt::format("{}_{}{}", named.name, mode.name, taken == 0 ? "" : fmt::format("_{}", taken + 1)),
                       problem, each.template_name, each});
        ++taken;
      }
    }
  }
  return out;
}

/// The template's first plan for each layer, of which it must be the planner's first choice.
std::vector<Case> cases_of_layers(std::string_view template_name, const std::vector<std::string>& layers) {
  std::vector<Case> out;
  for (const std::string& layer : layers) {
    const Problem problem{parse_layer(layer).value(), Direction::kForward, target_named("sm_90a").value()};
    out.push_back({layer, problem, std::string(template_name), std::nullopt});
  }
  return out;
}

/// The template's first plan of the gradient of the weights, or of the input, for each of the layers.
std::vector<Case> gradients(std::string_view template_name, const Mode& mode, const std::vector<std::string>& names,
                            Direction direction = Direction::kGradWeight) {
  return cases(template_name, mode, names, 1, true, direction);
}

/// The template's first plan of a kind for each of the layers, whatever records say. All must have one.
std::vector<Case> cases_of_kind(std::string_view kind, const Mode& mode, const std::vector<std::string>& names,
                                bool (*wanted)(const Plan&), std::string_view template_name = "shift_gemm",
                                Direction direction = Direction::kForward) {
  const std::vector<NamedLayer> layers = layers_of(CONVTGEN_BENCHMARK_LAYERS);
  std::vector<Case> out;
  for (const std::string& name : names) {
    const auto named = std::ranges::find(layers, name, &NamedLayer::name);
    Problem problem{named->layer, direction, target_named("sm_90a").value()};
    problem.layer.directions = {direction};
    problem.layer.dtype = mode.dtype;
    problem.layer.compute = mode.compute;
    problem.layer.layout = mode.layout;
    const std::vector<Plan> plans = plan(problem).value();
    const auto found = std::ranges::find_if(
        plans, [&](const Plan& each) { return each.template_name == template_name && wanted(each); });
    if (found == plans.end()) {
      throw std::runtime_error(fmt::format("{} has no plan of this kind: {}", name, kind));
    }
    out.push_back({fmt::format("{}_{}_{}", name, mode.name, kind), problem, found->template_name, *found});
  }
  return out;
}

bool has_rows_in_columns(const Plan& plan) {
  return flag(plan, "rows_in_columns");
}
bool takes_pieces(const Plan& plan) {
  return flag(plan, "bulk") && flag(plan, "channels_last");
}

bool is_of_clusters(const Plan& plan) {
  return plan.launch.main().cluster > 1;
}

TEST(Disassembler, IsThere) {
  if (disassembler() == nullptr) {
    GTEST_SKIP() << "no nvdisasm: machine code is not looked at";
  }
}

/// Whether a kernel has an instruction whose name begins so and is wanted.
template <typename Wanted>
bool has_instruction(const std::vector<MachineCode>& kernels, std::string_view begin, Wanted wanted) {
  return std::ranges::any_of(kernels, [&](const MachineCode& kernel) {
    return std::ranges::any_of(kernel.instructions, [&](const Instruction& each) {
      return each.text.starts_with(begin) && wanted(std::string_view(each.text).substr(0, each.text.find(' ')));
    });
  });
}

/// Whether a kernel of direct_rows, overlap_gemm, patch_gemm or phase_gemm stores the vectors that its plan promises: a
/// store that the assembler splits costs as many times its memory requests.
bool stores_vectors(const Plan& plan, const std::vector<MachineCode>& kernels) {
  const bool is_rows = plan.template_name == "direct_rows";
  const std::int64_t elements = integer(plan, is_rows ? "vector" : "store");
  const std::int64_t bytes = is_rows && integer(plan, "element_kind") == 0 ? 4 : 2;
  if (elements * bytes < 8) {
    return true;  // no vector is promised
  }
  const std::string width = elements * bytes == 8 ? ".64" : ".128";
  return has_instruction(kernels, "STG.", [&](std::string_view name) { return name.ends_with(width); });
}

/// Whether a kernel of mma_rows has products of warps, and stores whole vectors alone.
bool multiplies_and_stores_vectors(const std::vector<MachineCode>& kernels) {
  return has_instruction(kernels, "HMMA.", [](std::string_view) { return true; }) &&
         has_instruction(kernels, "STG.", [](std::string_view name) { return name.ends_with(".128"); }) &&
         !has_instruction(kernels, "STG.", [](std::string_view name) { return !name.ends_with(".128"); });
}

/// What the assembler tells that makes a kernel slower; empty where there is nothing.
std::string slower_words(const Binary& binary, const ResourceUsage& usage) {
  std::string out;
  if (usage.spill_bytes != 0 || usage.stack_bytes != 0) {
    out += fmt::format("{} bytes spilled, a stack of {}; ", usage.spill_bytes, usage.stack_bytes);
  }
  for (const char* bad : {"serialized", "is injected", "C7510", "C7511", "C7512", "C7517", "C7519", "C7520"}) {
    out += binary.log.contains(bad) ? fmt::format("{}; ", bad) : "";
  }
  return out;
}

void expect_sound_machine_code(const Case& one) {
  const Plan chosen = one.plan ? *one.plan : plan(one.problem).value().front();
  EXPECT_EQ(chosen.template_name, one.template_name);
  SCOPED_TRACE(fmt::format("{}: {}; {}, {}\nreplay: CONVTGEN_TEST_ONLY='{}' tensor_core_compile_test", one.name,
                           canonical_form(one.problem.layer), chosen.template_name, chosen.reason, one.name));
  const Result<CompiledPlan> compiled = compile_plan(one.problem, chosen);
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto& [binary, kernels] = *compiled;
  const std::optional<ResourceUsage> usage = resource_usage(binary);
  ASSERT_TRUE(usage);
  EXPECT_EQ(slower_words(binary, *usage), "") << binary.log;
  if (disassembler() != nullptr) {
    EXPECT_TRUE((chosen.template_name != "direct_rows" && chosen.template_name != "overlap_gemm" &&
                 chosen.template_name != "patch_gemm" && chosen.template_name != "phase_gemm") ||
                stores_vectors(chosen, kernels));
    EXPECT_TRUE(chosen.template_name != "mma_rows" || multiplies_and_stores_vectors(kernels));
    EXPECT_TRUE(chosen.template_name != "mma_phases" ||
                has_instruction(kernels, "HMMA.", [](std::string_view) { return true; }));
    for (const MachineCode& kernel : kernels) {
      EXPECT_EQ(overwritten_operands(kernel), std::vector<std::string>()) << kernel.name;
      // In machine code of CUDA 12 nothing reads them behind the wait. That none is given away before is shown above.
      if (find_nvrtc().major >= 13) {
        EXPECT_EQ(unkept_operands(kernel), std::vector<std::string>()) << kernel.name;
      }
      EXPECT_EQ(early_arrivals(kernel), std::vector<std::string>()) << kernel.name;
    }
  }
}

constexpr Mode kF16 = {"f16", Dtype::kF16, Compute::kF16, Layout::kNchw};
constexpr Mode kF16Nhwc = {"f16_nhwc", Dtype::kF16, Compute::kF16, Layout::kNhwc};
constexpr Mode kBf16Nhwc = {"bf16_nhwc", Dtype::kBf16, Compute::kBf16, Layout::kNhwc};
constexpr Mode kF32 = {"f32", Dtype::kF32, Compute::kF32, Layout::kNchw};
constexpr Mode kF32Nhwc = {"f32_nhwc", Dtype::kF32, Compute::kF32, Layout::kNhwc};
constexpr Mode kTf32 = {"tf32", Dtype::kF32, Compute::kTf32, Layout::kNchw};
constexpr Mode kTf32Nhwc = {"tf32_nhwc", Dtype::kF32, Compute::kTf32, Layout::kNhwc};
constexpr Mode kF32x3 = {"f32x3", Dtype::kF32, Compute::kF32x3, Layout::kNchw};
constexpr Mode kF32x3Nhwc = {"f32x3_nhwc", Dtype::kF32, Compute::kF32x3, Layout::kNhwc};

std::map<std::string, std::vector<Case>> groups() {
  const std::vector<std::string> outside = {"k5x5",     "k5x5s2n1", "k2x3",     "k2x3n1", "k4x4s2",
                                            "k4x4s2n1", "k3x3s2",   "k3x3s2n1", "k3x3s3", "k3x3s3n1"};
  const std::vector<std::string> rolling = {"kb57", "kb65", "kb69", "kb71", "kb78"};
  const std::vector<std::string> summed = {"kb65", "kb69", "kb71", "unet4", "dcgan4", "pose1", "k3x3s2n1"};
  const std::vector<std::string> strided = {"unet1", "unet4", "dcgan4", "pose1", "hifi1", "k3x3s3"};
  return {
      {"shipped", shipped_cases()},
      // Without biases: halo_gemm reads them from shared memory that is never released, which early_arrivals() can't
      // know.
      {"outputs_by_columns", cases("direct_rows", kF32, {"kb75", "kb81", "fcn8dw", "kb79"}, 2, true)},
      {"outputs_by_columns_f16", cases("direct_rows", kF16, {"kb75", "kb81", "fcn8dw"}, 2, true)},
      {"outputs_by_pixels", cases("direct_rows", kF32Nhwc, {"kb75", "kb81", "fcn8dw", "sam2x2"}, 2, true)},
      {"outputs_by_pixels_f16", cases("direct_rows", kF16Nhwc, {"kb75", "kb81", "fcn8dw"}, 2, true)},
      {"products_of_warps", cases("mma_rows", kF16Nhwc, {"kb75", "kb81", "sam2x2", "kb79", "hifi4"}, 2, true)},
      {"products_of_warps_bf16", cases("mma_rows", kBf16Nhwc, {"kb75", "kb81"}, 2, true)},
      {"channels_last", cases("halo_gemm", kF16Nhwc, {"kb57", "kb78", "dcgan4"}, 1, true)},
      {"through_registers", cases("halo_gemm", kTf32, {"kb65", "kb78", "dcgan4"}, 1, true)},
      {"taps_as_columns",
       cases("overlap_gemm", kF16Nhwc, {"pose1", "dcgan2", "mrcnn", "fsrcnn4", "dcgan4", "dcgan5", "k3x3s3"}, 2, true)},
      {"patches", cases("patch_gemm", kF16Nhwc, {"mrcnn", "unet4", "pillars", "sam2x2"}, 2, true)},
      {"patches_bf16", cases("patch_gemm", kBf16Nhwc, {"yoloseg", "unet1"}, 1, true)},
      {"phases_as_columns", cases("phase_gemm", kF16Nhwc, {"fsrcnn4", "dcgan5"}, 2, true)},
      {"phases_as_columns_of_layers",
       cases_of_layers(
           "phase_gemm",
           {"conv_transpose2d 56 -> 1; kernel 9x9; stride 2; padding 4; input 4x256x256; dtype bf16; layout nhwc",
            "conv_transpose2d 56 -> 1; kernel 9x9; stride 3; padding 4; input 2x256x256; dtype f16; layout nhwc; bias",
            "conv_transpose2d 64 -> 12; kernel 4x4; stride 2; padding 1; input 8x128x128; dtype f16; layout "
            "nhwc; bias; fuse relu",
            "conv_transpose1d 136 -> 3; kernel 16; stride 8; padding 4; input 16x8000; dtype bf16; layout nhwc"})},
      {"phases_as_rows", cases("mma_phases", kTf32, {"fsrcnn4", "dcgan5"}, 2, true)},
      {"phases_as_rows_16_bits", cases("mma_phases", kF16, {"fsrcnn4", "dcgan5"}, 1, true)},
      {"taps_as_columns_nchw", cases("overlap_gemm", kF16, {"pose1", "dcgan2", "unet1", "dcgan4", "dcgan5"}, 2, true)},
      {"taps_as_columns_bf16", cases("overlap_gemm", kBf16Nhwc, {"pose1", "dcgan2", "unet1"}, 1, true)},
      {"parted_phases",
       cases_of_layers("halo_gemm",
                       {"conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x340; compute tf32",
                        "conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x340; dtype f16",
                        "conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x?; dtype bf16; layout nhwc",
                        "conv_transpose2d 64 -> 3; kernel 3x90; stride 1x37; input 4x16x40; dtype f16"})},
      {"from_registers",
       cases("shift_gemm", kTf32, {"kb57", "kb65", "kb78", "unet4", "dcgan4", "hifi1", "pose1"}, 1, true)},
      // Of many k-blocks, whose loops go back with products in flight.
      {"several_k_blocks", cases("shift_gemm", kF16, {"kb64", "unet1"}, 1, true)},
      {"odd_widths", cases("shift_gemm", kTf32, outside)},
      {"pieces", cases_of_kind("pieces", kF16Nhwc, {"kb64", "kb57", "kb69", "unet4", "dcgan2", "pose3"}, takes_pieces)},
      {"clusters", cases_of_kind("clusters", kF16Nhwc, {"pose1", "dcgan2"}, is_of_clusters)},
      {"clusters_of_tf32", cases_of_kind("clusters", kTf32, {"pose1", "dcgan2"}, is_of_clusters)},
      {"rolling_tf32", cases("roll_gemm", kTf32, rolling, 1, true)},
      {"rolling_f16", cases("roll_gemm", kF16, rolling, 1, true)},
      {"rolling_pixels",
       cases("roll_gemm", kF16Nhwc, {"kb57", "kb64", "kb65", "kb69", "kb71", "kb74", "kb78"}, 3, true)},
      {"rolling_pixels_tf32", cases("roll_gemm", kTf32Nhwc, rolling, 1, true)},
      {"of_halves", cases("f32x3_gemm", kF32x3, outside)},
      {"of_halves_channels_last", cases("f32x3_gemm", kF32x3Nhwc, outside)},
      {"weights_by_units", gradients("grad_weight_gemm", kTf32Nhwc, summed)},
      {"weights_by_units_f16", gradients("grad_weight_gemm", kF16, summed)},
      {"weights_by_rows", gradients("grad_weight_rows", kTf32, summed)},
      {"weights_by_rows_f16", gradients("grad_weight_rows", kF16, summed)},
      {"weights_by_kernel_rows",
       cases_of_kind("kernel_rows", kTf32, rolling, has_rows_in_columns, "grad_weight_rows", Direction::kGradWeight)},
      {"weights_by_kernel_rows_f16",
       cases_of_kind("kernel_rows", kF16, rolling, has_rows_in_columns, "grad_weight_rows", Direction::kGradWeight)},
      {"weights_by_pixels", gradients("grad_weight_pixels", kBf16Nhwc, summed)},
      {"weights_of_halves", gradients("f32x3_grad_weight", kF32x3, summed)},
      {"weights_of_halves_channels_last", gradients("f32x3_grad_weight", kF32x3Nhwc, summed)},
      {"weights_of_parts", gradients("f32x3_grad_weight_pixels", kF32x3, {"dcgan2", "dcgan4", "pose1"})},
      {"weights_of_parts_channels_last",
       gradients("f32x3_grad_weight_pixels", kF32x3Nhwc, {"dcgan2", "dcgan4", "pose1"})},
      {"inputs_with_strides", gradients("shift_gemm", kF16, strided, Direction::kGradInput)},
      {"inputs_with_strides_tf32", gradients("shift_gemm", kTf32Nhwc, strided, Direction::kGradInput)},
      {"inputs_by_taps", gradients("tap_gemm", kF16Nhwc, strided, Direction::kGradInput)},
      {"inputs_of_halves", gradients("f32x3_gemm", kF32x3, strided, Direction::kGradInput)},
      {"inputs_of_halves_channels_last", gradients("f32x3_gemm", kF32x3Nhwc, strided, Direction::kGradInput)},
  };
}

/// All cases, each with its group's name before its own.
std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto& [group, cases] : groups()) {
    EXPECT_FALSE(cases.empty()) << group;
    for (Case& one : cases) {
      one.name = fmt::format("{}/{}", group, one.name);
      all.push_back(std::move(one));
    }
  }
  return all;
}

std::vector<testing::Candidate> candidates_of(const std::vector<Case>& all) {
  std::vector<testing::Candidate> candidates;
  for (const Case& one : all) {
    const Layer& layer = one.problem.layer;
    candidates.push_back(
        {one.name,
         {one.problem.target.architecture, fmt::format("{} {}", one.template_name, name_of(layer.compute)),
          std::string(name_of(layer.layout))}});
  }
  return candidates;
}

std::vector<testing::Candidate> all_candidates() {
  return candidates_of(all_cases());
}

constexpr std::size_t kSample = 14;
constexpr std::size_t kParts = 2;  // tests that share the sample, so that they run side by side; each plans all

class PlansForPtxas : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PlansForPtxas, BecomeSoundMachineCode) {
  const std::vector<Case> all = all_cases();
  const std::vector<std::size_t> drawn =
      testing::part_of(testing::sample(candidates_of(all), kSample), GetParam(), kParts);
  ASSERT_FALSE(drawn.empty());
  for (const std::size_t i : drawn) {
    fmt::print("{}\n", all[i].name);
    expect_sound_machine_code(all[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Part, PlansForPtxas,
                         ::testing::Range(std::size_t{0}, testing::number_of_parts(kParts, all_candidates)));

}  // namespace
}  // namespace convtgen
