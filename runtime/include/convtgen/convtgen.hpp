// convtgen for C++17 and later: handles that destroy themselves and errors that are thrown, over the C API alone, so
// that the ABI is C's. What functions do, and their shapes and units, stands in convtgen.h.
//
//     const convtgen::Layer layer("conv_transpose2d 512 -> 256; kernel 4; stride 2; padding 1; input ?x?x?");
//     const convtgen::Device device("auto");
//     const convtgen::Kernel kernel = device.prepare(layer);
//     const convtgen::Sizes sizes(batch, height, width);
//     kernel.launch(convtgen::Tensors::forward(x, weight, nullptr, y, workspace, kernel.workspace(sizes)), sizes,
//     stream);
//
// Gradients: Device::prepare() takes a direction, and Tensors has a function for each.
// examples/api/training_step.cpp is a training step.
#ifndef CONVTGEN_CONVTGEN_HPP
#define CONVTGEN_CONVTGEN_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "convtgen/convtgen.h"

namespace convtgen {
// The ABI's version, as the SONAME has it, keeps these names apart from those of other versions, and from the library's
// own where it is linked statically.
inline namespace v0_2 {

/// What a call that failed has to say.
class Error : public std::runtime_error {
 public:
  Error(convtgen_status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] convtgen_status code() const noexcept { return code_; }

 private:
  convtgen_status code_;
};

/// Throws Error unless `status` is CONVTGEN_OK.
inline void check(convtgen_status status) {
  if (status != CONVTGEN_OK) {
    throw Error(status, convtgen_last_error());
  }
}

/// A layer, field by field: its members are set, then it is given to Layer.
struct LayerFields : convtgen_layer_fields {
  LayerFields() : convtgen_layer_fields() { check(convtgen_layer_fields_init(this)); }
};

/// The sizes of x in a call. Those that the layer knows may be left out, or be CONVTGEN_DYNAMIC.
struct Sizes : convtgen_sizes {
  /// The layer's own.
  Sizes() noexcept : Sizes(CONVTGEN_DYNAMIC) {}
  explicit Sizes(std::int64_t batch) noexcept
      : convtgen_sizes{batch, {CONVTGEN_DYNAMIC, CONVTGEN_DYNAMIC, CONVTGEN_DYNAMIC}} {}
  /// Of conv_transpose1d.
  Sizes(std::int64_t batch, std::int64_t width) noexcept : convtgen_sizes{batch, {1, 1, width}} {}
  /// Of conv_transpose2d.
  Sizes(std::int64_t batch, std::int64_t height, std::int64_t width) noexcept
      : convtgen_sizes{batch, {1, height, width}} {}
  /// Of conv_transpose3d.
  Sizes(std::int64_t batch, std::int64_t depth, std::int64_t height, std::int64_t width) noexcept
      : convtgen_sizes{batch, {depth, height, width}} {}
};

/// The tensors of a call by their roles, all null at first.
struct Tensors : convtgen_tensors {
  Tensors() noexcept : convtgen_tensors() { struct_size = sizeof(convtgen_tensors); }
  /// Those of a forward call. `bias` is null where the layer has none; the workspace may be where Kernel::workspace()
  /// is 0.
  [[nodiscard]] static Tensors forward(const void* x, const void* weight, const void* bias, void* y,
                                       void* workspace = nullptr, std::size_t workspace_bytes = 0) noexcept {
    Tensors tensors = with_workspace(workspace, workspace_bytes);
    tensors.x = x;
    tensors.weight = weight;
    tensors.bias = bias;
    tensors.y = y;
    return tensors;
  }
  /// Those of a CONVTGEN_GRAD_INPUT call, which reads grad_y and weight and writes grad_x.
  [[nodiscard]] static Tensors for_grad_input(const void* grad_y, const void* weight, void* grad_x,
                                              void* workspace = nullptr, std::size_t workspace_bytes = 0) noexcept {
    Tensors tensors = with_workspace(workspace, workspace_bytes);
    tensors.grad_y = grad_y;
    tensors.weight = weight;
    tensors.grad_x = grad_x;
    return tensors;
  }
  /// Those of a CONVTGEN_GRAD_WEIGHT call, which reads x and grad_y and writes grad_weight and, where the layer has a
  /// bias, grad_bias; else that is null.
  [[nodiscard]] static Tensors for_grad_weight(const void* x, const void* grad_y, void* grad_weight, void* grad_bias,
                                               void* workspace = nullptr, std::size_t workspace_bytes = 0) noexcept {
    Tensors tensors = with_workspace(workspace, workspace_bytes);
    tensors.x = x;
    tensors.grad_y = grad_y;
    tensors.grad_weight = grad_weight;
    tensors.grad_bias = grad_bias;
    return tensors;
  }
  /// Those of a CONVTGEN_GRAD_BIAS call, which reads grad_y and writes grad_bias.
  [[nodiscard]] static Tensors for_grad_bias(const void* grad_y, void* grad_bias, void* workspace = nullptr,
                                             std::size_t workspace_bytes = 0) noexcept {
    Tensors tensors = with_workspace(workspace, workspace_bytes);
    tensors.grad_y = grad_y;
    tensors.grad_bias = grad_bias;
    return tensors;
  }

 private:
  static Tensors with_workspace(void* workspace, std::size_t workspace_bytes) noexcept {
    Tensors tensors;
    tensors.workspace = workspace;
    tensors.workspace_bytes = workspace_bytes;
    return tensors;
  }
};

class Layer {
 public:
  /// Of text: the one-line form, or a file with this one layer. Throws CONVTGEN_INVALID_LAYER.
  explicit Layer(const std::string& text) { check(convtgen_layer_parse(text.c_str(), nullptr, &handle_)); }
  /// The layer of this name in a file's text.
  Layer(const std::string& text, const std::string& name) {
    check(convtgen_layer_parse(text.c_str(), name.c_str(), &handle_));
  }
  explicit Layer(const convtgen_layer_fields& fields) { check(convtgen_layer_create(&fields, &handle_)); }
  ~Layer() { convtgen_layer_destroy(handle_); }
  Layer(Layer&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  Layer& operator=(Layer&& from) noexcept {
    std::swap(handle_, from.handle_);
    return *this;
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// The canonical form.
  [[nodiscard]] std::string text() const { return convtgen_layer_text(handle_); }
  /// Throws CONVTGEN_INVALID_ARGUMENT.
  [[nodiscard]] convtgen_shape shape(const Sizes& sizes = {}) const {
    convtgen_shape shape{};
    shape.struct_size = sizeof(shape);
    check(convtgen_layer_shape(handle_, &sizes, &shape));
    return shape;
  }
  /// convtgen_layer_stream(): how a layer with `streaming` runs while its input arrives. Throws
  /// CONVTGEN_INVALID_ARGUMENT.
  [[nodiscard]] convtgen_stream stream() const {
    convtgen_stream stream{};
    stream.struct_size = sizeof(stream);
    check(convtgen_layer_stream(handle_, &stream));
    return stream;
  }
  [[nodiscard]] const convtgen_layer* handle() const noexcept { return handle_; }

 private:
  convtgen_layer* handle_ = nullptr;
};

/// convtgen_onnx_tensor.
struct OnnxTensor {
  std::vector<std::int64_t> extents;  // empty where there is no such tensor, or the model's caller gives it
  std::string bytes;                  // of the elements; empty where another file has them
  std::string file;                   // relative to the model's folder
  std::int64_t file_offset = 0;
};

/// convtgen_onnx_node. Texts that it lacks are empty.
struct OnnxNode {
  std::string node, name, layer, x, y, notes, attribute, value, reason;
  OnnxTensor weight, bias;
};

/// convtgen_import_onnx(): the ConvTranspose nodes of a model's bytes.
[[nodiscard]] inline std::vector<OnnxNode> import_onnx(const std::string& model, const char* auto_pad_as = nullptr) {
  struct Reading {
    std::vector<OnnxNode> nodes;
    static OnnxTensor tensor(const convtgen_onnx_tensor& from) {
      OnnxTensor tensor;
      tensor.extents.assign(from.extents, from.extents + from.axes);
      if (from.data != nullptr) {
        tensor.bytes.assign(static_cast<const char*>(from.data), from.bytes);
      }
      tensor.file = from.file != nullptr ? from.file : "";
      tensor.file_offset = from.file_offset;
      return tensor;
    }
    static int visit(void* user, const convtgen_onnx_node* from) {
      const auto text = [](const char* given) { return std::string(given != nullptr ? given : ""); };
      static_cast<Reading*>(user)->nodes.push_back(
          {text(from->node), text(from->name), text(from->layer), text(from->x), text(from->y), text(from->notes),
           text(from->attribute), text(from->value), text(from->reason), tensor(from->weight), tensor(from->bias)});
      return 0;
    }
  };
  Reading reading;
  check(convtgen_import_onnx(model.data(), model.size(), auto_pad_as, &Reading::visit, &reading));
  return reading.nodes;
}

class Kernel {
 public:
  /// Takes over a handle of the C API.
  explicit Kernel(convtgen_kernel* handle) noexcept : handle_(handle) {}
  ~Kernel() { convtgen_kernel_destroy(handle_); }
  Kernel(Kernel&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  Kernel& operator=(Kernel&& from) noexcept {
    std::swap(handle_, from.handle_);
    return *this;
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// convtgen_launch(). `stream` is a CUstream or cudaStream_t.
  void launch(const Tensors& tensors, const Sizes& sizes = {}, void* stream = nullptr) const {
    check(convtgen_launch(handle_, &tensors, &sizes, stream));
  }
  /// convtgen_kernel_workspace(): bytes.
  [[nodiscard]] std::size_t workspace(const Sizes& sizes = {}) const {
    std::size_t bytes = 0;
    check(convtgen_kernel_workspace(handle_, &sizes, &bytes, nullptr));
    return bytes;
  }
  /// convtgen_kernel_keeps_weights(): whether later calls may pass null for the weights.
  [[nodiscard]] bool keeps_weights() const noexcept { return convtgen_kernel_keeps_weights(handle_) != 0; }
  [[nodiscard]] std::string source() const { return convtgen_kernel_source(handle_); }
  [[nodiscard]] std::string plan() const { return convtgen_kernel_plan(handle_); }
  [[nodiscard]] std::string key() const { return convtgen_kernel_key(handle_); }
  [[nodiscard]] std::string symbol() const { return convtgen_kernel_symbol(handle_); }
  [[nodiscard]] std::string layer() const { return convtgen_kernel_layer(handle_); }
  [[nodiscard]] std::string architecture() const { return convtgen_kernel_architecture(handle_); }
  [[nodiscard]] convtgen_kernel* handle() const noexcept { return handle_; }

 private:
  convtgen_kernel* handle_;
};

/// Told before each plan is measured: which one, and which part of all is done. False ends the tuning.
using TuneProgress = std::function<bool(const char* doing, double fraction)>;

/// convtgen_tune_options.
struct TuneOptions {
  bool again = false;
  std::uint64_t memory_limit = 0;
  const Tensors* tensors = nullptr;
  TuneProgress progress = {};
};

class Device {
 public:
  /// "auto", "host", "host:sm_90a", "cuda" or "cuda:N".
  explicit Device(const std::string& which = "auto") { check(convtgen_device_open(which.c_str(), &handle_)); }
  ~Device() { convtgen_device_close(handle_); }
  Device(Device&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  Device& operator=(Device&& from) noexcept {
    std::swap(handle_, from.handle_);
    return *this;
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] std::string name() const { return convtgen_device_name(handle_); }
  [[nodiscard]] bool is_host() const noexcept { return convtgen_device_is_host(handle_) != 0; }

  /// convtgen_prepare(). Throws CONVTGEN_INVALID_ARGUMENT for a direction that the layer lacks.
  [[nodiscard]] Kernel prepare(const Layer& layer, convtgen_direction direction = CONVTGEN_FORWARD) const {
    convtgen_kernel* kernel = nullptr;
    check(convtgen_prepare(handle_, layer.handle(), direction, &kernel));
    return Kernel(kernel);
  }

  /// Told after each kernel: its place, how many are done of how many, its status. False cancels the rest.
  using Progress = std::function<bool(std::size_t index, std::size_t done, std::size_t count, convtgen_status status)>;

  /// The forward kernels in the order of the layers. Throws the first failure, after all have been tried; what
  /// `progress` throws cancels the rest and comes out here.
  [[nodiscard]] std::vector<Kernel> prepare_all(const std::vector<const Layer*>& layers, int threads = 0,
                                                const Progress& progress = {}) const {
    return prepare_all(layers, std::vector<convtgen_direction>(layers.size(), CONVTGEN_FORWARD), threads, progress);
  }
  /// The same with a direction for each layer: layers[i] in directions[i]. Throws CONVTGEN_INVALID_ARGUMENT also where
  /// the lists differ in length.
  [[nodiscard]] std::vector<Kernel> prepare_all(const std::vector<const Layer*>& layers,
                                                const std::vector<convtgen_direction>& directions, int threads = 0,
                                                const Progress& progress = {}) const {
    if (directions.size() != layers.size()) {
      throw Error(CONVTGEN_INVALID_ARGUMENT, "directions has " + std::to_string(directions.size()) +
                                                 " places; legal is one for each of the " +
                                                 std::to_string(layers.size()) + " layers");
    }
    std::vector<const convtgen_layer*> handles;
    for (const Layer* layer : layers) {
      handles.push_back(layer != nullptr ? layer->handle() : nullptr);
    }
    std::vector<convtgen_kernel*> made(layers.size(), nullptr);
    Telling telling{progress, nullptr};
    const convtgen_status status =
        convtgen_prepare_all(handle_, handles.data(), directions.data(), handles.size(), threads,
                             progress ? &Telling::tell : nullptr, &telling, made.data());
    std::vector<Kernel> kernels;
    kernels.reserve(made.size());
    for (convtgen_kernel* kernel : made) {
      kernels.emplace_back(kernel);
    }
    if (telling.thrown) {
      std::rethrow_exception(telling.thrown);
    }
    check(status);
    return kernels;
  }

  /// convtgen_tune(): milliseconds of the fastest plan. What `progress` throws ends the tuning and comes out here.
  double tune(const Layer& layer, convtgen_direction direction = CONVTGEN_FORWARD, const Sizes& sizes = {},
              const TuneOptions& options = {}) const {
    TellingTune telling{options.progress, nullptr};
    convtgen_tune_options own{};
    own.struct_size = sizeof(own);
    own.again = options.again ? 1 : 0;
    own.memory_limit = options.memory_limit;
    own.tensors = options.tensors;
    own.progress = options.progress ? &TellingTune::tell : nullptr;
    own.user = &telling;
    double milliseconds = 0;
    const convtgen_status status = convtgen_tune(handle_, layer.handle(), direction, &sizes, &own, &milliseconds);
    if (telling.thrown) {
      std::rethrow_exception(telling.thrown);
    }
    check(status);
    return milliseconds;
  }

  /// convtgen_run().
  void run(const Layer& layer, convtgen_direction direction, const Tensors& tensors, const Sizes& sizes = {},
           void* stream = nullptr) const {
    check(convtgen_run(handle_, layer.handle(), direction, &tensors, &sizes, stream));
  }
  [[nodiscard]] convtgen_device* handle() const noexcept { return handle_; }

 private:
  struct Telling {
    const Progress& progress;
    std::exception_ptr thrown;
    static int tell(void* user, std::size_t index, std::size_t done, std::size_t count, convtgen_status status) {
      auto* self = static_cast<Telling*>(user);
      try {
        return self->progress(index, done, count, status) ? 0 : 1;
      } catch (...) {
        self->thrown = std::current_exception();
        return 1;
      }
    }
  };
  struct TellingTune {
    const TuneProgress& progress;
    std::exception_ptr thrown;
    static int tell(void* user, const char* doing, double fraction) {
      auto* self = static_cast<TellingTune*>(user);
      try {
        return self->progress(doing, fraction) ? 0 : 1;
      } catch (...) {
        self->thrown = std::current_exception();
        return 1;
      }
    }
  };
  convtgen_device* handle_ = nullptr;
};

/// convtgen_choice() with a choice: what was chosen under `key` before, else `choice`, which is kept.
[[nodiscard]] inline std::string keep_choice(const std::string& key, const std::string& choice) {
  const char* kept = nullptr;
  check(convtgen_choice(key.c_str(), choice.c_str(), &kept));
  return kept;
}

/// convtgen_choice() without one: what was chosen under `key` before, else "".
[[nodiscard]] inline std::string find_choice(const std::string& key) {
  const char* kept = nullptr;
  check(convtgen_choice(key.c_str(), nullptr, &kept));
  return kept;
}

/// What this process has done so far.
[[nodiscard]] inline convtgen_counters counters() {
  convtgen_counters all{};
  all.struct_size = sizeof(all);
  check(convtgen_get_counters(&all));
  return all;
}

}  // namespace v0_2
}  // namespace convtgen

#endif  // CONVTGEN_CONVTGEN_HPP
