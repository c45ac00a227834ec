// Prebuilt kernels with packed weights on the host device: right by the definition, packed once and used again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/launcher/names.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/compare.h"
#include "tests/launcher/built_set.h"
#include "tests/launcher/with_packing.h"
#include "tests/template_facts/facts.h"

namespace convtgen::test {
namespace {

constexpr InputSizes kSizes{2, {5, 7}};
const SetInput kInput{kSizes.batch, {kSizes.extents[kDepth], kSizes.extents[kHeight], kSizes.extents[kWidth]}};

struct PackedKernel {
  std::string name;
  std::string layer;
  std::string template_name;  // of the planner's plan; "": made of a kernel that packs nothing
  std::int64_t cluster = 1;   // blocks of a cluster
};
void PrintTo(const PackedKernel& kernel, std::ostream* out) {
  *out << kernel.name;
}

/// The kernel for the first of the planner's plans with this template and cluster that packs its weights, or none.
std::optional<TargetKernel> planned_kernel(const Layer& layer, const std::string& template_name, std::int64_t cluster) {
  const CodeTarget code = code_target_named("sm_90a").value();
  const Problem problem{layer, Direction::kForward, code.target};
  const std::vector<Plan> plans = plan(problem).value();
  for (const Plan& each : plans) {
    if (each.launch.packed_bytes() > 0 && each.template_name == template_name &&
        each.launch.main().cluster == cluster) {
      return TargetKernel{code, each, specialize(problem, each).value()};
    }
  }
  return std::nullopt;
}

TargetKernel made_kernel(const Layer& layer) {
  const CodeTarget code = code_target_named("sm_80").value();
  const Problem problem{layer, Direction::kForward, code.target};
  const Plan best = plan(problem).value().front();
  return with_packing(layer, {code, best, specialize(problem, best).value()});
}

class PackedOnHost : public ::testing::TestWithParam<PackedKernel> {
 protected:
  void SetUp() override {
    layer_ = parse_layer(GetParam().layer).value();
    const auto& [name, layer, template_name, cluster] = GetParam();
    const auto made = template_name.empty() ? made_kernel(layer_) : planned_kernel(layer_, template_name, cluster);
    ASSERT_TRUE(made) << "the planner has no plan that packs the weights";
    alignment_ = made->plan.alignment;
    HostOptions options;
    options.portable = true;
    const auto device = open_host_device(options).value();
    const auto library = device->compile(made->source, made->code.target.architecture);
    ASSERT_TRUE(library) << library.error().message;
    const SetKernel kernel{"up", layer_, Direction::kForward};
    set_.write_launch_code({"net", "net.h", LaunchFormat::kCubin, true, {made->code}}, kernel, {*made});
    write(set_.folder() / ("out/" + host_file("up_forward")), library->bytes);
    write(set_.folder() / ("out/" + code_file("up_forward", made->code)), "no GPU will have it");
    set_.build(strict_compilers().front());
    ASSERT_EQ(set_.function<int (*)(int)>("use_host")(1), 0) << set_.last_error();
    int keeps = -1;
    ASSERT_EQ(set_.function<int (*)(int*)>("up_forward_keeps_weights")(&keeps), 0) << set_.last_error();
    EXPECT_EQ(keeps, 1);
    shape_ = shape_of(layer_, kSizes).value();
  }

  [[nodiscard]] void* kernel() const { return *set_.function<void** (*)()>("kernels")(); }

  /// Memory that a workspace may begin in, with a pattern in it that no weight has.
  [[nodiscard]] std::vector<std::byte> workspace() const {
    return std::vector<std::byte>(
        set_.function<KernelWorkspace>("kernel_workspace")(kernel(), &kInput) + kWorkspaceAlignment, std::byte{0xff});
  }

  HostArray run(const LayerInputs& inputs, const void* weight, std::vector<std::byte>& workspace,
                const void* x = nullptr) {
    HostArray y = make_array(layer_.dtype, output_shape(layer_, shape_));
    std::ranges::fill(y.bytes, std::byte{0xff});
    const auto begin = reinterpret_cast<std::uintptr_t>(workspace.data());
    void* aligned = workspace.data() + (kWorkspaceAlignment - begin % kWorkspaceAlignment) % kWorkspaceAlignment;
    const SetTensors tensors{.x = x != nullptr ? x : inputs.x.bytes.data(),
                             .weight = weight,
                             .bias = inputs.bias ? inputs.bias->bytes.data() : nullptr,
                             .y = y.bytes.data(),
                             .workspace = aligned,
                             .workspace_bytes = workspace.size() - kWorkspaceAlignment};
    EXPECT_EQ(set_.function<KernelLaunch>("kernel_launch")(kernel(), &tensors, &kInput, nullptr), 0)
        << set_.last_error();
    return y;
  }

  BuiltSet set_;
  Layer layer_;
  Shape shape_;
  std::int64_t alignment_ = 0;
};

TEST_P(PackedOnHost, PackedOnceAndUsedAgainBesideOthers) {
  const LayerInputs first = random_inputs(layer_, shape_, 1), second = random_inputs(layer_, shape_, 2);
  std::vector<std::byte> first_workspace = workspace(), second_workspace = workspace();
  const HostArray y = run(first, first.weight.bytes.data(), first_workspace);
  const HostArray other = run(second, second.weight.bytes.data(), second_workspace);
  for (const auto& [inputs, result] : {std::pair{&first, &y}, std::pair{&second, &other}}) {
    const Comparison comparison = compare(layer_, shape_, define_all(layer_, shape_, *inputs), *result);
    EXPECT_TRUE(comparison.passed()) << describe(comparison, layer_);
  }
  const std::vector<std::byte> kept = first_workspace;
  EXPECT_EQ(run(first, nullptr, first_workspace).bytes, y.bytes);
  EXPECT_EQ(run(second, nullptr, second_workspace).bytes, other.bytes);
  EXPECT_EQ(first_workspace, kept) << "a call without weights only reads";
  LayerInputs mixed = first;
  mixed.weight = second.weight;
  EXPECT_EQ(run(mixed, nullptr, second_workspace).bytes, run(mixed, second.weight.bytes.data(), first_workspace).bytes);
}

TEST_P(PackedOnHost, XMayBeginWhereverThePlanAllows) {
  const LayerInputs inputs = random_inputs(layer_, shape_, 3);
  std::vector<std::byte> packed = workspace();
  const HostArray y = run(inputs, inputs.weight.bytes.data(), packed);
  for (std::int64_t offset = std::max<std::int64_t>(alignment_, bytes_of(layer_.dtype)); offset < 16;
       offset += std::max<std::int64_t>(alignment_, bytes_of(layer_.dtype))) {
    std::vector<std::byte> moved(inputs.x.bytes.size() + 32);
    const auto begin = reinterpret_cast<std::uintptr_t>(moved.data());
    std::byte* x = moved.data() + (16 - begin % 16) % 16 + offset;
    std::ranges::copy(inputs.x.bytes, x);
    EXPECT_EQ(run(inputs, nullptr, packed, x).bytes, y.bytes) << offset << " bytes further on";
  }
}

constexpr const char* kUp = "conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias";

std::vector<PackedKernel> packed_kernels() {
  std::vector<PackedKernel> all = {{"Copied", kUp, ""}};
  for (const auto& [template_name, packed] : convtgen::testing::all_of(&convtgen::testing::TemplateFacts::packed)) {
    all.push_back({packed.name, packed.layer, std::string(template_name), packed.cluster});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kernels, PackedOnHost, ::testing::ValuesIn(packed_kernels()),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace convtgen::test
