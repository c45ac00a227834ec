// twins [prebuilt]: runs the kernels of the build, and unless `prebuilt` is said their twins that the library makes in
// this process, and compares the bits. With `prebuilt` it shows instead that no NVRTC was loaded.
#include <twins.h>

#include <convtgen/convtgen.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "../../../examples/api/arrays.h"

namespace {

[[noreturn]] void stop(const std::string& what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why);
  std::exit(1);
}

struct Call {
  void *x, *weight, *bias, *y;
};

void* filled(const Arrays& arrays, std::size_t elements, std::size_t element_bytes) {
  void* values = arrays_allocate(&arrays, elements * element_bytes + 16);
  for (std::size_t i = 0; i < elements; ++i) {
    const double value = static_cast<double>(i * 7919 % 997) / 997 - 0.5;
    if (element_bytes == 8) {
      static_cast<double*>(values)[i] = value;
    } else if (element_bytes == 4) {
      static_cast<float*>(values)[i] = static_cast<float>(value);
    } else {
      static_cast<std::uint16_t*>(values)[i] = static_cast<std::uint16_t>(0x3000 + i * 7919 % 1021);  // 0.125 to 0.25
    }
  }
  return values;
}

// What the library makes of the same layer, into `y`.
void run_twin(const Arrays& arrays, const char* text, const Call& call, void* y, const twins_sizes& sizes) {
  convtgen_layer* layer = nullptr;
  convtgen_device* device = nullptr;
  convtgen_kernel* kernel = nullptr;
  convtgen_tensors tensors{};
  tensors.struct_size = sizeof(tensors);
  tensors.x = call.x;
  tensors.weight = call.weight;
  tensors.bias = call.bias;
  tensors.y = y;
  const convtgen_sizes input{sizes.batch, {1, sizes.in[1], sizes.in[2]}};
  if (convtgen_layer_parse(text, nullptr, &layer) != CONVTGEN_OK ||
      convtgen_device_open(arrays.on_gpu ? "cuda" : "host", &device) != CONVTGEN_OK ||
      convtgen_prepare(device, layer, CONVTGEN_FORWARD, &kernel) != CONVTGEN_OK ||
      convtgen_kernel_workspace(kernel, &input, &tensors.workspace_bytes, nullptr) != CONVTGEN_OK) {
    stop(text, convtgen_last_error());
  }
  tensors.workspace = arrays_allocate(&arrays, tensors.workspace_bytes);
  if (convtgen_launch(kernel, &tensors, &input, nullptr) != CONVTGEN_OK) {
    stop(text, convtgen_last_error());
  }
  arrays_wait(&arrays);
  convtgen_kernel_destroy(kernel);
  convtgen_device_close(device);
  convtgen_layer_destroy(layer);
}

}  // namespace

int main(int argc, char** argv) {
  const bool alone = argc > 1 && std::string(argv[1]) == "prebuilt";
  if (twins_prepare() != TWINS_OK) {
    stop("prepare", twins_last_error());
  }
  const bool host = twins_uses_host() != 0;
  std::printf("on %s\n", host ? "the host device" : "the GPU");
  const Arrays arrays = arrays_open(host);
  for (const twins_kernel* const* kernel = twins_kernels(); *kernel != nullptr; ++kernel) {
    twins_sizes sizes{};
    const twins_input asked{host ? 1 : 4, {1, host ? 5 : 61, host ? 9 : 130}};
    if (twins_kernel_sizes(*kernel, &asked, &sizes) != TWINS_OK) {
      stop((*kernel)->name, twins_last_error());
    }
    const auto bytes = static_cast<std::size_t>(sizes.element_bytes);
    const auto array = [&](std::int64_t elements) { return filled(arrays, static_cast<std::size_t>(elements), bytes); };
    const Call call{array(sizes.x_elements), array(sizes.weight_elements),
                    sizes.bias_elements > 0 ? array(sizes.bias_elements) : nullptr, array(sizes.y_elements)};
    const std::size_t y_bytes = static_cast<std::size_t>(sizes.y_elements) * bytes;
    std::memset(call.y, 0xff, y_bytes);
    const twins_input input{sizes.batch, {1, sizes.in[1], sizes.in[2]}};
    twins_tensors tensors{};
    tensors.x = call.x;
    tensors.weight = call.weight;
    tensors.bias = call.bias;
    tensors.y = call.y;
    tensors.workspace_bytes = twins_kernel_workspace(*kernel, &input);
    tensors.workspace = arrays_allocate(&arrays, tensors.workspace_bytes);
    if (twins_kernel_launch(*kernel, &tensors, &input, nullptr) != TWINS_OK) {
      stop((*kernel)->name, twins_last_error());
    }
    arrays_wait(&arrays);
    if (!alone) {
      void* y = array(sizes.y_elements);
      std::memset(y, 0xee, y_bytes);
      run_twin(arrays, (*kernel)->text, call, y, sizes);
      arrays_wait(&arrays);
      if (std::memcmp(y, call.y, y_bytes) != 0) {
        stop((*kernel)->name, "its twin has other bits");
      }
    }
    std::printf("%s: %lld outputs%s\n", (*kernel)->name, static_cast<long long>(sizes.y_elements),
                alone ? "" : ", the same bits as its twin's");
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; alone && std::getline(maps, line);) {
    if (line.find("nvrtc") != std::string::npos) {
      stop("NVRTC is loaded", line.c_str());
    }
  }
  return 0;
}
