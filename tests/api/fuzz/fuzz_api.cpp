// Any calls of the C API, in any order, with any text, numbers and pointers: each returns one of its codes, what fails
// leaves words and no handle, and what succeeds keeps its promises. The driver and NVRTC are the tests' fakes.
#include <dlfcn.h>
#include <stdlib.h>

#include <convtgen/convtgen.h>
#include <cstring>
#include <iterator>
#include <string>

#include "tests/api/fuzz/input.h"
#include "tests/cuda_device/fake_driver.h"
#include "tests/language/fuzz/check.h"

namespace {

convtgen_device* device = nullptr;

// Whether the call succeeded; if not, that it said why.
bool succeeded(convtgen_status status) {
  CONVTGEN_CHECK(status >= CONVTGEN_OK && status < CONVTGEN_INTERNAL);
  CONVTGEN_CHECK(status == CONVTGEN_OK || std::strlen(convtgen_last_error()) > 0);
  return status == CONVTGEN_OK;
}

std::int64_t number(Input& data) {
  return data.yes() ? data.between(-2, 40) : static_cast<std::int64_t>(data.any());
}

convtgen_layer* layer_of_fields(Input& data) {
  convtgen_layer_fields fields;
  CONVTGEN_CHECK(succeeded(convtgen_layer_fields_init(&fields)));
  const auto small = [&] { return data.between(-1, 6); };
  fields.dimensions = static_cast<std::int32_t>(data.between(0, 4));
  fields.bias = static_cast<std::int32_t>(data.between(-1, 2));
  for (convtgen_axis& axis : fields.axes) {
    for (auto member : {&convtgen_axis::kernel, &convtgen_axis::stride, &convtgen_axis::padding_before,
                        &convtgen_axis::padding_after, &convtgen_axis::output_padding, &convtgen_axis::dilation}) {
      axis.*member = data.between(0, 15) == 0 ? number(data) : small();
    }
    axis.extent = number(data);
  }
  fields.groups = small();
  fields.in_channels = fields.groups * small();
  fields.out_channels = number(data);
  fields.batch = number(data);
  static constexpr const char* kWords[] = {
      nullptr, "f32", "f16", "tf32", "nhwc", "channels_last", "relu", "grad_input, forward", "clamp(0, 1)", "x", ""};
  fields.dtype = kWords[data.between(0, std::size(kWords) - 1)];
  fields.compute = kWords[data.between(0, std::size(kWords) - 1)];
  fields.layout = kWords[data.between(0, std::size(kWords) - 1)];
  fields.weight_layout = kWords[data.between(0, std::size(kWords) - 1)];
  fields.fuse = kWords[data.between(0, std::size(kWords) - 1)];
  fields.directions = kWords[data.between(0, std::size(kWords) - 1)];
  fields.streaming = static_cast<std::int32_t>(data.between(-1, 1));
  fields.fuse_input = kWords[data.between(0, std::size(kWords) - 1)];
  convtgen_layer* layer = nullptr;
  CONVTGEN_CHECK(succeeded(convtgen_layer_create(&fields, &layer)) == (layer != nullptr));
  if (layer != nullptr) {
    convtgen_stream stream{};
    stream.struct_size = sizeof(stream);
    CONVTGEN_CHECK(succeeded(convtgen_layer_stream(layer, &stream)) == (fields.streaming == 1));
  }
  return layer;
}

convtgen_layer* layer_of_text(Input& data) {
  const std::string name = data.text(4);
  const std::string text = data.text(300);
  convtgen_layer* layer = nullptr;
  const auto status = convtgen_layer_parse(text.c_str(), data.yes() ? name.c_str() : nullptr, &layer);
  CONVTGEN_CHECK(succeeded(status) == (layer != nullptr));
  return layer;
}

void launch(Input& data, const convtgen_layer* layer) {
  convtgen_kernel* kernel = nullptr;
  const auto direction = static_cast<convtgen_direction>(data.between(-1, 3));
  if (!succeeded(convtgen_prepare(device, layer, direction, &kernel))) {
    CONVTGEN_CHECK(kernel == nullptr);
    return;
  }
  while (!data.empty()) {
    const convtgen_sizes sizes{number(data), {number(data), number(data), number(data)}};
    const auto pointer = [&] { return data.yes() ? reinterpret_cast<void*>(data.any()) : nullptr; };
    convtgen_shape shape{};
    shape.struct_size = sizeof(shape);
    const bool has_shape = succeeded(convtgen_layer_shape(layer, &sizes, &shape));
    size_t workspace = 1;
    CONVTGEN_CHECK(succeeded(convtgen_kernel_workspace(kernel, &sizes, &workspace, nullptr)) == has_shape);
    CONVTGEN_CHECK(has_shape || workspace == 0);
    convtgen_tensors tensors{};
    tensors.struct_size = data.between(0, 15) == 0 ? data.any() : sizeof(tensors);
    tensors.x = pointer();
    tensors.weight = pointer();
    tensors.bias = pointer();
    tensors.y = pointer();
    tensors.grad_y = data.between(0, 7) == 0 ? pointer() : nullptr;
    tensors.workspace = pointer();
    tensors.workspace_bytes = data.yes() ? workspace : static_cast<size_t>(data.any());
    const bool launched = succeeded(convtgen_launch(kernel, &tensors, &sizes, pointer()));
    CONVTGEN_CHECK(has_shape || !launched);
  }
  convtgen_kernel_destroy(kernel);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
  setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC, 1);
  setenv("CONVTGEN_CACHE_SIZE", "0", 1);
  setenv("CONVTGEN_LOG", "off", 1);
  const auto state = reinterpret_cast<convtgen::fake::StateFunction>(
      dlsym(dlopen(CONVTGEN_FAKE_DRIVER, RTLD_NOW), "convtgen_fake_state"));
  state()->record = false;
  CONVTGEN_CHECK(convtgen_device_open("cuda", &device) == CONVTGEN_OK);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input data(bytes, size);
  convtgen_layer* layer = data.yes() ? layer_of_fields(data) : layer_of_text(data);
  if (layer == nullptr) {
    return 0;
  }
  convtgen_layer* again = nullptr;
  CONVTGEN_CHECK(convtgen_layer_parse(convtgen_layer_text(layer), nullptr, &again) == CONVTGEN_OK);
  CONVTGEN_CHECK(std::strcmp(convtgen_layer_text(layer), convtgen_layer_text(again)) == 0);
  // A kernel of many taps takes long to write out, which is not what is looked for here.
  convtgen_shape shape{};
  shape.struct_size = sizeof(shape);
  const convtgen_sizes empty{0, {CONVTGEN_DYNAMIC, CONVTGEN_DYNAMIC, CONVTGEN_DYNAMIC}};
  const bool small = !succeeded(convtgen_layer_shape(layer, &empty, &shape)) || shape.weight_elements < 4096;
  if (small && data.yes()) {
    launch(data, layer);
  }
  convtgen_layer_destroy(again);
  convtgen_layer_destroy(layer);
  return 0;
}
