// Prebuilt kernels on the host device: right by the definition, with no compiler when they run, and the same as the
// JIT's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <convtgen/convtgen.h>
#include <convtgen/host.h>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "generator/language/language.h"
#include "generator/recipe/recipe.h"
#include "runtime/reference/compare.h"
#include "tests/launcher/built_set.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

constexpr const char* kHostLayers =
    "layer up { conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias; fuse relu }\n"
    "layer class { conv_transpose2d 4 -> 8; kernel 3x5; dilation 2x1; dtype f16; layout nhwc; input 2x?x9 }\n"
    "layer line { conv_transpose1d 4 -> 2; kernel 8; stride 4; dtype f64; input 3x20 }\n"
    "layer volume { conv_transpose3d 4 -> 3; kernel 3x2x3; stride 2x1x2; padding 1x0x1; bias; input ?x?x?x6 }\n";

/// On the host device the engine runs the kernels for sm_75.
class LaunchedOnHost : public testing::Test {
 protected:
  void SetUp() override {
    set_.generate(kHostLayers, "sm_75,compute_80", true, {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}});
    set_.build(strict_compilers().back());
    setenv("CONVTGEN_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
  }
  void TearDown() override { unsetenv("CONVTGEN_CUDA_DRIVER"); }
  [[nodiscard]] const SetKernelFacts* const* kernels() const {
    return set_.function<const SetKernelFacts* const* (*)()>("kernels")();
  }

  BuiltSet set_;
};

/// Inputs of a layer at small sizes, and room for its output.
struct Arrays {
  InputSizes sizes;
  Shape shape;
  LayerInputs inputs;
  HostArray y;
};
Arrays arrays_for(const Layer& layer) {
  Arrays made;
  made.sizes = {layer.batch.value_or(2),
                {layer.axes[kDepth].extent.value_or(3), layer.axes[kHeight].extent.value_or(5),
                 layer.axes[kWidth].extent.value_or(7)}};
  made.shape = shape_of(layer, made.sizes).value();
  made.inputs.x = random_array(layer.dtype, array_shape(layer, made.shape, Role::kX), 1, 1);
  made.inputs.weight = random_array(layer.dtype, array_shape(layer, made.shape, Role::kWeight), 2, 1);
  if (layer.bias) {
    made.inputs.bias = random_array(layer.dtype, {layer.out_channels}, 3, 1);
  }
  made.y = make_array(layer.dtype, array_shape(layer, made.shape, Role::kY));
  return made;
}

const void* bias_of(const Arrays& arrays) {
  return arrays.inputs.bias ? arrays.inputs.bias->bytes.data() : nullptr;
}

// One call of a set's kernel.
int launch(const BuiltSet& set, const void* kernel, Arrays& arrays) {
  const Extents& extents = arrays.sizes.extents;
  const SetInput input{arrays.sizes.batch, {extents[kDepth], extents[kHeight], extents[kWidth]}};
  const std::size_t bytes = set.function<KernelWorkspace>("kernel_workspace")(kernel, &input);
  std::vector<std::byte> memory(bytes + kWorkspaceAlignment);
  void* workspace = memory.data();
  std::size_t space = memory.size();
  std::align(kWorkspaceAlignment, bytes, workspace, space);
  const SetTensors tensors{.x = arrays.inputs.x.bytes.data(),
                           .weight = arrays.inputs.weight.bytes.data(),
                           .bias = bias_of(arrays),
                           .y = arrays.y.bytes.data(),
                           .workspace = workspace,
                           .workspace_bytes = bytes};
  return set.function<KernelLaunch>("kernel_launch")(kernel, &tensors, &input, nullptr);
}

TEST_F(LaunchedOnHost, RightByTheDefinitionWithNoCompiler) {
  ASSERT_EQ(set_.function<int (*)()>("uses_host")(), 1);
  EXPECT_EQ(set_.last_error(), "") << "a missing GPU is no failure";
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  for (const auto* const* kernel = kernels(); *kernel != nullptr; ++kernel) {
    const Layer layer = parse_layer((*kernel)->text).value();
    Arrays arrays = arrays_for(layer);
    ASSERT_EQ(launch(set_, *kernel, arrays), 0) << set_.last_error();
    const Comparison comparison =
        compare(layer, arrays.shape, define_all(layer, arrays.shape, arrays.inputs), arrays.y);
    EXPECT_TRUE(comparison.passed()) << (*kernel)->name << ": " << describe(comparison, layer);
  }
  setenv("PATH", path.c_str(), 1);
}

TEST_F(LaunchedOnHost, SameBitsAndSourceAsTheJit) {
  setenv("CONVTGEN_CACHE_DIR", (set_.folder() / "jit").c_str(), 1);
  convtgen_device* device = nullptr;
  ASSERT_EQ(convtgen_device_open("host", &device), CONVTGEN_OK) << convtgen_last_error();
  for (const auto* const* kernel = kernels(); *kernel != nullptr; ++kernel) {
    const Layer layer = parse_layer((*kernel)->text).value();
    Arrays arrays = arrays_for(layer);
    ASSERT_EQ(launch(set_, *kernel, arrays), 0);
    HostArray twin = make_array(layer.dtype, arrays.y.shape);
    convtgen_layer* same = nullptr;
    convtgen_kernel* jit = nullptr;
    ASSERT_EQ(convtgen_layer_parse((*kernel)->text, nullptr, &same), CONVTGEN_OK);
    ASSERT_EQ(convtgen_prepare(device, same, CONVTGEN_FORWARD, &jit), CONVTGEN_OK) << convtgen_last_error();
    convtgen_tensors tensors{};
    tensors.struct_size = sizeof(tensors);
    tensors.x = arrays.inputs.x.bytes.data();
    tensors.weight = arrays.inputs.weight.bytes.data();
    tensors.bias = bias_of(arrays);
    tensors.y = twin.bytes.data();
    const Extents& extents = arrays.sizes.extents;
    const convtgen_sizes sizes{arrays.sizes.batch, {extents[kDepth], extents[kHeight], extents[kWidth]}};
    std::size_t packed = 0;
    ASSERT_EQ(convtgen_kernel_workspace(jit, &sizes, &tensors.workspace_bytes, &packed), CONVTGEN_OK);
    struct alignas(128) Piece {
      std::array<std::byte, 128> bytes;
    };
    std::vector<Piece> workspace(tensors.workspace_bytes / sizeof(Piece) + 1);
    tensors.workspace = workspace.data();
    ASSERT_EQ(convtgen_launch(jit, &tensors, &sizes, nullptr), CONVTGEN_OK) << convtgen_last_error();
    EXPECT_EQ(twin.bytes, arrays.y.bytes) << (*kernel)->name;
    const Outcome emitted = convtgen({"emit", "layers.convt", "--layer", (*kernel)->layer, "--arch", "sm_75"},
                                     {.folder = set_.folder().path()});
    EXPECT_TRUE(convtgen_kernel_source(jit) == emitted.out) << (*kernel)->name;
    convtgen_kernel_destroy(jit);
    convtgen_layer_destroy(same);
  }
  convtgen_device_close(device);
  unsetenv("CONVTGEN_CACHE_DIR");
}

TEST_F(LaunchedOnHost, WrongLaunches) {
  const char bytes[] = "no library";
  convtgen_host_call_fields call{};
  const auto refused = [&](const std::string& words) {
    EXPECT_EQ(convtgen_host_call(&call), CONVTGEN_INVALID_ARGUMENT) << words;
    EXPECT_THAT(convtgen_last_error(), HasSubstr(words));
  };
  EXPECT_EQ(convtgen_host_call(nullptr), CONVTGEN_INVALID_ARGUMENT);
  refused("call->struct_size is 0; this version knows");
  call.struct_size = sizeof call;
  refused("call->library is null");
  call.library = bytes;
  call.library_bytes = ~std::size_t{0};
  refused("call->library has 18446744073709551615 bytes: more than there are addresses after it");
  call.library_bytes = sizeof bytes;
  convtgen_host_kernel kernel{};
  kernel.threads = 32;
  kernel.blocks = 1;
  call.kernel_count = 1;
  refused("call->kernels is null");
  call.kernels = &kernel;
  refused("call->kernels[0].symbol is null");
  kernel.symbol = "kernel";
  EXPECT_EQ(convtgen_host_call(&call), CONVTGEN_UNSUPPORTED);
  EXPECT_THAT(convtgen_last_error(), HasSubstr("no library for the host device"));
  kernel.argument_count = 1;
  refused("call->kernels[0].arguments is null");
  convtgen_host_argument argument{.value = 0, .array = 1, .map = nullptr};
  kernel.arguments = &argument;
  call.array_count = 1;
  refused("call->arrays is null");
  convtgen_host_array array{.address = nullptr, .bytes = 4, .kind = CONVTGEN_HOST_READ};
  call.arrays = &array;
  refused("call->arrays[0] is null");
  array.address = reinterpret_cast<void*>(~std::uintptr_t{0} - 2);
  refused("call->arrays[0] has 4 bytes: more than there are addresses after it");
  float number = 0;
  array.address = &number;
  refused("call->kernels[0].arguments[0] names array 1; legal are -1 to 0");
  convtgen_host_map map{};
  map.array = -1;
  argument.map = &map;
  refused("call->kernels[0].arguments[0] names array -1; legal are 0 to 0");
  map.array = 0;
  map.element = 8;
  refused("call->kernels[0].arguments[0].map has element 8, swizzle 0 and fill 0; legal are 0 to 7");
  array.kind = 5;
  refused("call->arrays[0].kind is 5; legal are the CONVTGEN_HOST_ constants");
}

TEST_F(LaunchedOnHost, AKernelWithoutBlocksIsLoadedAlone) {
  const auto library = read(set_.folder() / "out/up_forward.host.so");
  const auto* const* up = kernels();
  const Outcome symbol =
      convtgen({"emit", "layers.convt", "--layer", (*up)->layer, "--arch", "sm_75"}, {.folder = set_.folder().path()});
  const std::size_t begin = symbol.out.find("//   kernel ") + 12;
  const std::string name = symbol.out.substr(begin, symbol.out.find('\n', begin) - begin);
  convtgen_host_kernel kernel{};
  kernel.symbol = name.c_str();
  kernel.threads = 32;
  convtgen_host_call_fields call{};
  call.struct_size = sizeof call;
  call.library = library.data();
  call.library_bytes = library.size();
  call.kernels = &kernel;
  call.kernel_count = 1;
  EXPECT_EQ(convtgen_host_call(&call), CONVTGEN_OK) << convtgen_last_error();
  kernel.symbol = "another";
  EXPECT_EQ(convtgen_host_call(&call), CONVTGEN_UNSUPPORTED);
  EXPECT_THAT(convtgen_last_error(), HasSubstr("has no kernel 'another'"));
}

TEST(HostLibrary, OfAnotherArchitectureIsRefusedBeforeTheFirstCall) {
  BuiltSet set;
  set.generate(kHostLayers, "sm_75,compute_80", true, {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}});
  const Outcome other = convtgen({"compile", "layers.convt", "--format", "host", "--arch", "sm_90a", "-o", "out"},
                                 {.folder = set.folder().path()});
  ASSERT_EQ(other.exit, 0) << other.err;
  set.build(strict_compilers().front());
  ASSERT_EQ(set.function<int (*)(int)>("use_host")(1), 0) << set.last_error();
  for (const char* prepare : {"prepare", "up_forward_prepare"}) {
    EXPECT_EQ(set.function<int (*)()>(prepare)(), 3) << prepare;
    EXPECT_THAT(set.last_error(),
                testing::AllOf(HasSubstr("up_forward: "), HasSubstr("has no kernel 'convtgen_"),
                               HasSubstr("runs the kernels for sm_75: 'convtgen compile --format host --arch sm_75'")));
  }
  int keeps = -1;
  EXPECT_EQ(set.function<int (*)(int*)>("up_forward_keeps_weights")(&keeps), 3);
}

TEST_F(LaunchedOnHost, WhereToRunIsTheProgramsToSay) {
  const auto use_host = set_.function<int (*)(int)>("use_host");
  const auto uses_host = set_.function<int (*)()>("uses_host");
  EXPECT_EQ(use_host(0), 0);
  EXPECT_EQ(uses_host(), 0);
  EXPECT_EQ(set_.function<int (*)()>("prepare")(), 4);
  EXPECT_EQ(use_host(1), 0);
  EXPECT_EQ(uses_host(), 1);
  EXPECT_EQ(set_.function<int (*)()>("prepare")(), 0);
  double x[240], w[64], y[504];
  using Line = int (*)(const double*, const double*, double*, void*, std::size_t, void*);
  EXPECT_EQ(set_.function<Line>("line_forward")(x, w, y, nullptr, 0, y), 1);
  EXPECT_THAT(set_.last_error(), HasSubstr("stream must be null on the host device"));
}

}  // namespace
}  // namespace convtgen::test
