// The up-sampling stack of a vocoder, from vocoder.onnx to samples, which are compared with ONNX Runtime's. Layers and
// weights come from `convtgen import`, kernels and their launch code from convtgen_add_kernels(): no framework is
// needed.
#include <vocoder.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../api/arrays.h"

namespace {

void check(int status) {
  if (status != VOCODER_OK) {
    std::fprintf(stderr, "%s: %s\n", vocoder_error_text(status), vocoder_last_error());
    std::exit(1);
  }
}

/// The floats of a .npy file of version 1, which `convtgen import` and numpy write: magic, version, length of the text
/// that has the shape, this text, the numbers.
std::vector<float> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr std::size_t kBegin = 10;
  const std::size_t text = bytes.size() < kBegin ? 0
                                                 : static_cast<unsigned char>(bytes[8]) +
                                                       std::size_t{256} * static_cast<unsigned char>(bytes[9]);
  if (text == 0 || bytes.size() < kBegin + text || bytes.substr(1, 5) != "NUMPY" || bytes[6] != 1 ||
      bytes.substr(kBegin, text).find("'<f4'") == std::string::npos) {
    std::fprintf(stderr, "%s is no .npy file of float32\n", path.c_str());
    std::exit(1);
  }
  std::vector<float> numbers((bytes.size() - kBegin - text) / sizeof(float));
  std::memcpy(numbers.data(), bytes.data() + kBegin + text, numbers.size() * sizeof(float));
  return numbers;
}

float* upload(const Arrays& arrays, const std::vector<float>& numbers) {
  auto* array = static_cast<float*>(arrays_allocate(&arrays, numbers.size() * sizeof(float)));
  std::copy(numbers.begin(), numbers.end(), array);
  return array;
}

/// The functions of a layer of the set, and where its weights are.
struct Layer {
  const char* name;
  decltype(&vocoder_ups_0_ConvTranspose_forward) forward;
  decltype(&vocoder_ups_0_ConvTranspose_forward_sizes) sizes;
  decltype(&vocoder_ups_0_ConvTranspose_forward_workspace) workspace;
};
#define LAYER(name)                                                                                     \
  Layer {                                                                                               \
    #name, vocoder_##name##_forward, vocoder_##name##_forward_sizes, vocoder_##name##_forward_workspace \
  }
const Layer kLayers[] = {LAYER(ups_0_ConvTranspose), LAYER(ups_1_ConvTranspose), LAYER(ups_2_ConvTranspose),
                         LAYER(ups_3_ConvTranspose)};

}  // namespace

int main() {
  check(vocoder_prepare());
  const Arrays arrays = arrays_open(vocoder_uses_host());
  const std::vector<float> frames = read_npy(HERE "/frames.npy"), expected = read_npy(HERE "/samples.npy");

  // Each layer's outputs are the next one's inputs; the activations between them are in the kernels.
  std::int64_t length = 0, count = 0;
  const float* x = upload(arrays, frames);
  for (const Layer& layer : kLayers) {
    const std::string path = std::string(MODEL "/") + layer.name;
    vocoder_sizes sizes{};
    check(layer.sizes(1, &sizes));
    length = length == 0 ? static_cast<std::int64_t>(frames.size()) / sizes.in_channels : length;
    check(layer.sizes(length, &sizes));
    const float* weight = upload(arrays, read_npy(path + ".weight.npy"));
    const float* bias = upload(arrays, read_npy(path + ".bias.npy"));
    auto* y = static_cast<float*>(arrays_allocate(&arrays, static_cast<std::size_t>(sizes.y_elements) * sizeof(float)));
    const std::size_t bytes = layer.workspace(length);
    check(layer.forward(x, weight, bias, y, arrays_allocate(&arrays, bytes), bytes, length, nullptr));
    std::printf("%s: %lld to %lld\n", layer.name, static_cast<long long>(length), static_cast<long long>(sizes.out[2]));
    x = y;
    length = sizes.out[2];
    count = sizes.y_elements;
  }
  arrays_wait(&arrays);

  if (count != static_cast<std::int64_t>(expected.size())) {
    std::printf("%lld samples, where ONNX Runtime has %zu\n", static_cast<long long>(count), expected.size());
    return 1;
  }
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (x[i] - expected[i]) * (x[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  const double error = std::sqrt(difference / norm);
  std::printf("%lld samples on %s, a relative error of %.1e to ONNX Runtime's: %s\n", static_cast<long long>(count),
              vocoder_uses_host() != 0 ? "the host device" : "the GPU", error, error < 1e-5 ? "right" : "wrong");
  return error < 1e-5 ? 0 : 1;
}
