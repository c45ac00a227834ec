// The library `_jax.so` of the package: XLA's calls of convtgen's kernels, by its FFI (xla/ffi/api/ffi.h of jaxlib).
//
// A call has two operands and two results: the direction's tensor and a workspace. Its attributes are the layer's text,
// with all sizes, and the direction. So a compiled program means the same in another process.
//
// libconvtgen is inside the extension `_native` and shows nothing of itself; convtgen_jax_connect() gets the addresses
// of what is called here.
#include <convtgen/convtgen.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "xla/ffi/api/ffi.h"

#define CONVTGEN_JAX_FUNCTIONS(X) \
  X(convtgen_last_error)          \
  X(convtgen_layer_parse)         \
  X(convtgen_layer_destroy)       \
  X(convtgen_device_open)         \
  X(convtgen_prepare)             \
  X(convtgen_kernel_workspace)    \
  X(convtgen_kernel_destroy)      \
  X(convtgen_launch)

namespace {

namespace ffi = xla::ffi;

struct Library {
#define CONVTGEN_JAX_MEMBER(name) decltype(&::name) name = nullptr;
  CONVTGEN_JAX_FUNCTIONS(CONVTGEN_JAX_MEMBER)
#undef CONVTGEN_JAX_MEMBER
};

Library library;

constexpr std::int32_t kHost = -1;  // in the place of a GPU's number

ffi::Error last_error() {
  return {ffi::ErrorCode::kInternal, std::string("convtgen: ") + library.convtgen_last_error()};
}

// A kernel that is ready on a device, for calls of its layer's sizes.
struct Prepared {
  convtgen_kernel* kernel = nullptr;
  std::size_t workspace_bytes = 0;
};

ffi::ErrorOr<Prepared> prepare(const std::string& text, std::int32_t direction, convtgen_device* device) {
  convtgen_layer* layer = nullptr;
  if (library.convtgen_layer_parse(text.c_str(), nullptr, &layer) != CONVTGEN_OK) {
    return ffi::Unexpected(last_error());
  }
  Prepared prepared;
  const convtgen_status status =
      library.convtgen_prepare(device, layer, static_cast<convtgen_direction>(direction), &prepared.kernel);
  library.convtgen_layer_destroy(layer);
  if (status != CONVTGEN_OK ||
      library.convtgen_kernel_workspace(prepared.kernel, nullptr, &prepared.workspace_bytes, nullptr) != CONVTGEN_OK) {
    ffi::Error error = last_error();
    library.convtgen_kernel_destroy(prepared.kernel);
    return ffi::Unexpected(std::move(error));
  }
  return prepared;
}

// All kernels that compiled programs have asked for. They stay, as do the devices: a program can run until the process
// ends, and then nobody may call the driver any more.
class Kernels {
 public:
  ffi::ErrorOr<Prepared> find(std::string_view layer, std::int32_t direction, std::int32_t gpu) {
    const std::tuple key(layer, direction, gpu);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = kernels_.find(key); found != kernels_.end()) {
        return found->second;
      }
    }
    ffi::ErrorOr<convtgen_device*> device = open(gpu);
    if (device.has_error()) {
      return ffi::Unexpected(device.error());
    }
    std::string text(layer);
    ffi::ErrorOr<Prepared> prepared = prepare(text, direction, *device);
    if (prepared.has_error()) {
      return prepared;
    }
    const std::unique_lock lock(mutex_);
    const auto [place, is_new] = kernels_.emplace(std::tuple(std::move(text), direction, gpu), *prepared);
    if (!is_new) {  // another thread was first
      library.convtgen_kernel_destroy(prepared->kernel);
    }
    return place->second;
  }

  // The device of a GPU, or of kHost, unless there is one already.
  void use(std::int32_t gpu, convtgen_device* device) {
    const std::unique_lock lock(mutex_);
    if (convtgen_device*& own = devices_[gpu]; own == nullptr) {
      own = device;
    }
  }

 private:
  ffi::ErrorOr<convtgen_device*> open(std::int32_t gpu) {
    const std::unique_lock lock(mutex_);
    convtgen_device*& device = devices_[gpu];
    if (device == nullptr) {
      const std::string name = gpu == kHost ? "host" : "cuda:" + std::to_string(gpu);
      if (library.convtgen_device_open(name.c_str(), &device) != CONVTGEN_OK) {
        return ffi::Unexpected(last_error());
      }
    }
    return device;
  }

  std::shared_mutex mutex_;
  std::map<std::int32_t, convtgen_device*> devices_;
  std::map<std::tuple<std::string, std::int32_t, std::int32_t>, Prepared, std::less<>> kernels_;
};

Kernels& kernels() {
  static auto* const all = new Kernels;
  return *all;
}

ffi::Error launch(std::int32_t gpu, void* stream, ffi::AnyBuffer first, ffi::AnyBuffer second,
                  ffi::Result<ffi::AnyBuffer> result, ffi::Result<ffi::AnyBuffer> scratch, std::string_view layer,
                  std::int32_t direction) {
  const ffi::ErrorOr<Prepared> prepared = kernels().find(layer, direction, gpu);
  if (prepared.has_error()) {
    return prepared.error();
  }
  void* workspace = scratch->untyped_data();
  std::size_t bytes = scratch->size_bytes();
  if (prepared->workspace_bytes > 0 &&
      std::align(CONVTGEN_WORKSPACE_ALIGNMENT, prepared->workspace_bytes, workspace, bytes) == nullptr) {
    return {ffi::ErrorCode::kInvalidArgument, "convtgen: the program's workspace of " +
                                                  std::to_string(scratch->size_bytes()) + " bytes is too small for " +
                                                  std::to_string(prepared->workspace_bytes) +
                                                  " bytes; it was compiled for another GPU"};
  }
  convtgen_tensors tensors{};
  tensors.struct_size = sizeof(tensors);
  tensors.workspace = workspace;
  tensors.workspace_bytes = bytes;
  switch (direction) {
    case CONVTGEN_FORWARD:
      tensors.x = first.untyped_data();
      tensors.weight = second.untyped_data();
      tensors.y = result->untyped_data();
      break;
    case CONVTGEN_GRAD_INPUT:
      tensors.grad_y = first.untyped_data();
      tensors.weight = second.untyped_data();
      tensors.grad_x = result->untyped_data();
      break;
    case CONVTGEN_GRAD_WEIGHT:
      tensors.x = first.untyped_data();
      tensors.grad_y = second.untyped_data();
      tensors.grad_weight = result->untyped_data();
      break;
    default:
      return {ffi::ErrorCode::kInvalidArgument,
              "convtgen: direction " + std::to_string(direction) + "; legal are 0, 1 and 2"};
  }
  if (library.convtgen_launch(prepared->kernel, &tensors, nullptr, stream) != CONVTGEN_OK) {
    return last_error();
  }
  return ffi::Error::Success();
}

ffi::Error launch_on_host(ffi::AnyBuffer first, ffi::AnyBuffer second, ffi::Result<ffi::AnyBuffer> result,
                          ffi::Result<ffi::AnyBuffer> scratch, std::string_view layer, std::int32_t direction) {
  return launch(kHost, nullptr, first, second, result, scratch, layer, direction);
}

// Makes the kernel ready on a GPU before a program runs there, since launches may be captured in a CUDA graph.
ffi::Error make_ready(std::int32_t gpu, ffi::RemainingArgs /*operands*/, ffi::RemainingRets /*results*/,
                      std::string_view layer, std::int32_t direction) {
  const ffi::ErrorOr<Prepared> prepared = kernels().find(layer, direction, gpu);
  return prepared.has_error() ? prepared.error() : ffi::Error::Success();
}

}  // namespace

#define CONVTGEN_JAX_API extern "C" __attribute__((visibility("default")))

/// The names of the functions that convtgen_jax_connect() takes, with blanks between them.
CONVTGEN_JAX_API const char* convtgen_jax_functions() {
#define CONVTGEN_JAX_NAME(name) #name " "
  return CONVTGEN_JAX_FUNCTIONS(CONVTGEN_JAX_NAME);
#undef CONVTGEN_JAX_NAME
}

/// Before anything else: the addresses of these functions, in that order.
CONVTGEN_JAX_API void convtgen_jax_connect(void* const* addresses) {
#define CONVTGEN_JAX_SET(name) library.name = reinterpret_cast<decltype(library.name)>(*addresses++);
  CONVTGEN_JAX_FUNCTIONS(CONVTGEN_JAX_SET);
#undef CONVTGEN_JAX_SET
}

/// Kernels of GPU `gpu`, or with -1 of the host device, are made on this device, which stays open. So those that were
/// made ready on it before are found, also while a graph is captured.
CONVTGEN_JAX_API void convtgen_jax_use(std::int32_t gpu, convtgen_device* device) {
  kernels().use(gpu, device);
}

CONVTGEN_JAX_API XLA_FFI_Error* convtgen_jax_cpu(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, launch_on_host,
                         ffi::Ffi::Bind()
                             .Arg<ffi::AnyBuffer>()
                             .Arg<ffi::AnyBuffer>()
                             .Ret<ffi::AnyBuffer>()
                             .Ret<ffi::AnyBuffer>()
                             .Attr<std::string_view>("layer")
                             .Attr<std::int32_t>("direction"));
  return handler(frame);
}

CONVTGEN_JAX_API XLA_FFI_Error* convtgen_jax_cuda(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, launch,
                         ffi::Ffi::Bind()
                             .Ctx<ffi::DeviceOrdinal>()
                             .Ctx<ffi::PlatformStream<void*>>()
                             .Arg<ffi::AnyBuffer>()
                             .Arg<ffi::AnyBuffer>()
                             .Ret<ffi::AnyBuffer>()
                             .Ret<ffi::AnyBuffer>()
                             .Attr<std::string_view>("layer")
                             .Attr<std::int32_t>("direction"),
                         {ffi::Traits::kCmdBufferCompatible});
  return handler(frame);
}

CONVTGEN_JAX_API XLA_FFI_Error* convtgen_jax_cuda_initialize(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, make_ready,
                         ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>()
                             .Ctx<ffi::DeviceOrdinal>()
                             .RemainingArgs()
                             .RemainingRets()
                             .Attr<std::string_view>("layer")
                             .Attr<std::int32_t>("direction"));
  return handler(frame);
}
