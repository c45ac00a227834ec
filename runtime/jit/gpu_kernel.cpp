// A kernel on a GPU: one module for each context that it was met in, found without a lock.
#include <fmt/format.h>

#include <array>
#include <mutex>

#include "runtime/device/cuda/cuda_launch.h"
#include "runtime/device/cuda/cuda_tensor_map.h"
#include "runtime/jit/fork.h"
#include "runtime/jit/gpu.h"
#include "runtime/support/counters.h"

namespace convtgen::jit {
namespace {

// Loading and unloading are not part of what the caller captures; without this the driver would spoil captures that
// go on in this or another thread.
class OutsideCapture {
 public:
  explicit OutsideCapture(const cuda::Api& api) : api_(api) { (void)api_.thread_exchange_stream_capture_mode(&mode_); }
  ~OutsideCapture() { (void)api_.thread_exchange_stream_capture_mode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  const cuda::Api& api_;
  cuda::StreamCaptureMode mode_ = cuda::kCaptureRelaxed;
};

struct LoadedModule {
  cuda::ContextHandle context = nullptr;
  unsigned long long context_id = 0;
  cuda::ModuleHandle module = nullptr;
  std::array<cuda::FunctionHandle, kMostKernels> functions{};  // in the recipe's order
  std::unique_ptr<LoadedModule> next = nullptr;
};

class GpuKernel final : public PreparedKernel {
 public:
  GpuKernel(std::shared_ptr<Gpu> gpu, KernelFacts facts, Binary binary, std::string compiled_by)
      : PreparedKernel(std::move(facts)),
        gpu_(std::move(gpu)),
        binary_(std::move(binary)),
        compiled_by_(std::move(compiled_by)) {}
  ~GpuKernel() override;

  [[nodiscard]] Outcome<void> launch(const Arrays& arrays, const InputSizes& sizes, void* stream) override;
  [[nodiscard]] Outcome<void> ready_here() override;
  [[nodiscard]] bool capturing(void* stream) const override {
    const ContextScope scope(*gpu_, gpu_->context_here());
    return gpu_->capturing(static_cast<cuda::StreamHandle>(stream));
  }

 private:
  [[nodiscard]] const LoadedModule* find(cuda::ContextHandle context) const;
  [[nodiscard]] Outcome<const LoadedModule*> find_or_load(cuda::ContextHandle context);
  [[nodiscard]] Outcome<void> find_functions(LoadedModule& module) const;
  [[nodiscard]] Outcome<void> allow_shared(cuda::FunctionHandle function, const RecipeKernel& kernel) const;
  [[nodiscard]] Failure load_failure(cuda::Status status, const char* log) const;
  [[nodiscard]] Outcome<void> enqueue(const LoadedModule& where, const Arrays& arrays, Call& call, void* stream) const;
  [[nodiscard]] Outcome<void> launch_elsewhere(const Arrays& arrays, Call& call, void* stream);

  std::shared_ptr<Gpu> gpu_;
  Binary binary_;
  std::string compiled_by_;
  std::atomic<const LoadedModule*> loaded_{nullptr};  // only ever added to, at the front
  std::mutex loading_;
  std::unique_ptr<LoadedModule> owned_;
};

GpuKernel::~GpuKernel() {
  for (std::unique_ptr<LoadedModule> module = std::move(owned_); module; module = std::move(module->next)) {
    // The module of a context that is gone went with it.
    if (!cuda_lost_in_fork() && gpu_->id_of(module->context) == module->context_id) {
      const ContextScope scope(*gpu_, module->context);
      const OutsideCapture outside(gpu_->api());
      (void)gpu_->api().module_unload(module->module);
      count(counters().unloads);
    }
  }
}

const LoadedModule* GpuKernel::find(cuda::ContextHandle context) const {
  for (const LoadedModule* module = loaded_.load(std::memory_order_acquire); module != nullptr;
       module = module->next.get()) {
    if (module->context == context && module->context_id == gpu_->id_of(context)) {
      return module;
    }
  }
  return nullptr;
}

Failure GpuKernel::load_failure(cuda::Status status, const char* log) const {
  const std::string driver = version_text(gpu_->driver().version());
  std::string message =
      gpu_->driver()
          .check(status, fmt::format("loading {}, compiled for {} by {}, on {} with a driver for CUDA {}",
                                     binary_.symbol, facts().architecture, compiled_by_, gpu_->info().name, driver))
          .error()
          .message;
  if (*log != '\0') {
    message += fmt::format("\n{}", log);
  }
  if (status == cuda::kErrorUnsupportedPtxVersion || status == cuda::kErrorInvalidImage ||
      status == cuda::kErrorNoBinaryForGpu) {
    message += fmt::format("\nA GPU of compute capability {} runs {}.", capability_text(gpu_->info().capability),
                           what_runs_on(gpu_->info().capability));
  }
  if (status == cuda::kErrorUnsupportedPtxVersion || status == cuda::kErrorInvalidImage) {
    message += fmt::format(
        " The driver takes what compilers up to CUDA {} make, and this was made by {}: name an older NVRTC with "
        "$CONVTGEN_NVRTC, or update the driver",
        driver, compiled_by_);
  }
  return {status == cuda::kErrorOutOfMemory ? Status::kOutOfMemory : Status::kDriver, std::move(message)};
}

Outcome<void> GpuKernel::allow_shared(cuda::FunctionHandle function, const RecipeKernel& kernel) const {
  const std::int64_t bytes = kernel.shared_bytes;
  if (bytes <= kSharedWithoutOptIn) {
    return {};
  }
  if (bytes > gpu_->info().max_shared_bytes) {
    return fail_with(Status::kUnsupported,
                     fmt::format("{} needs {} bytes of shared memory a block; {} has {}", kernel.symbol, bytes,
                                 gpu_->info().name, gpu_->info().max_shared_bytes));
  }
  const auto set = gpu_->driver().check(
      gpu_->api().func_set_attribute(function, cuda::kMaxDynamicSharedSizeBytes, static_cast<int>(bytes)),
      fmt::format("asking for {} bytes of shared memory for {}", bytes, kernel.symbol));
  if (!set) {
    return fail_with(Status::kDriver, set.error());
  }
  return {};
}

Outcome<void> GpuKernel::find_functions(LoadedModule& module) const {
  const std::vector<RecipeKernel>& kernels = facts().form.recipe().kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto found = gpu_->driver().check(
        gpu_->api().module_get_function(&module.functions[i], module.module, kernels[i].symbol.c_str()),
        fmt::format("finding the kernel {}", kernels[i].symbol));
    if (!found) {
      return fail_with(Status::kDriver, found.error());
    }
    if (auto allowed = allow_shared(module.functions[i], kernels[i]); !allowed) {
      return allowed;
    }
  }
  return {};
}

// The context must be current.
Outcome<const LoadedModule*> GpuKernel::find_or_load(cuda::ContextHandle context) {
  const std::lock_guard lock(loading_);
  if (const LoadedModule* module = find(context)) {
    return module;
  }
  const OutsideCapture outside(gpu_->api());
  std::array<char, 8192> log{};
  std::array options = {cuda::kJitErrorLogBuffer, cuda::kJitErrorLogBufferSizeBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  auto loaded = std::make_unique<LoadedModule>();
  const cuda::Status status = gpu_->api().module_load_data_ex(&loaded->module, binary_.bytes.c_str(), options.size(),
                                                              options.data(), values.data());
  if (status != cuda::kSuccess) {
    return std::unexpected(load_failure(status, log.data()));
  }
  count(counters().loads);
  loaded->context = context;
  loaded->context_id = gpu_->id_of(context);
  if (Outcome<void> found = find_functions(*loaded); !found) {
    (void)gpu_->api().module_unload(loaded->module);
    count(counters().unloads);
    return std::unexpected(std::move(found.error()));
  }
  loaded->next = std::move(owned_);
  owned_ = std::move(loaded);
  loaded_.store(owned_.get(), std::memory_order_release);
  return owned_.get();
}

Outcome<void> GpuKernel::ready_here() {
  if (cuda_lost_in_fork()) {
    return std::unexpected(forked_failure());
  }
  const cuda::ContextHandle context = gpu_->context_here();
  if (find(context) != nullptr) {
    return {};
  }
  const ContextScope scope(*gpu_, context);
  if (const auto entered = gpu_->driver().check(scope.status(), "making a context current"); !entered) {
    return fail_with(Status::kDriver, entered.error());
  }
  if (auto loaded = find_or_load(context); !loaded) {
    return std::unexpected(std::move(loaded.error()));
  }
  return {};
}

Outcome<void> GpuKernel::enqueue(const LoadedModule& where, const Arrays& arrays, Call& call, void* stream) const {
  const Recipe& recipe = facts().form.recipe();
  for (std::size_t k = 0; k < recipe.kernels.size(); ++k) {
    const RecipeKernel& kernel = recipe.kernels[k];
    KernelCall& own = call.kernels[k];
    if (own.blocks == 0) {
      continue;
    }
    std::array<void*, kMostArguments> parameters;
    std::array<cuda::EncodedTensorMap, kMostMaps> maps;  // for as long as the driver takes to copy them
    std::size_t map_count = 0;
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      parameters[i] = &own.slots[i];  // the driver reads as many bytes as the parameter has, lowest first
    }
    for (std::size_t i = 0; i < kernel.arguments.size() && !recipe.maps.empty(); ++i) {
      if (kernel.arguments[i].kind == KernelArgument::Kind::kMap) [[unlikely]] {
        const auto map = facts().form.map(kernel.arguments[i].index, arrays, call);
        const auto encoded = map ? encode_tensor_map(gpu_->driver(), *map) : std::unexpected(map.error());
        if (!encoded) {
          return fail_with(map ? Status::kDriver : Status::kInvalidArgument,
                           fmt::format("{}: {}", kernel.symbol, encoded.error().message));
        }
        maps[map_count] = *encoded;
        parameters[i] = &maps[map_count++];
      }
    }
    const CudaLaunch launch{.function = where.functions[k],
                            .blocks = own.blocks,
                            .threads = kernel.threads,
                            .shared_bytes = kernel.shared_bytes,
                            .overlaps = own.waits,
                            .stream = static_cast<cuda::StreamHandle>(stream)};
    const cuda::Status status = convtgen::enqueue(gpu_->driver(), gpu_->info().capability, launch, parameters.data());
    if (status != cuda::kSuccess) [[unlikely]] {
      return fail_with(Status::kDriver, gpu_->driver()
                                            .check(status, fmt::format("launching {} ({} blocks of {} threads)",
                                                                       kernel.symbol, launch.blocks, launch.threads))
                                            .error());
    }
  }
  return {};
}

Outcome<void> GpuKernel::launch(const Arrays& arrays, const InputSizes& sizes, void* stream) {
  if (cuda_lost_in_fork()) [[unlikely]] {
    return std::unexpected(forked_failure());
  }
  Call call;
  if (auto made = facts().form.make_call(arrays, sizes, call); !made) [[unlikely]] {
    return fail_with(Status::kInvalidArgument, made.error());
  }
  if (call.is_empty) {
    return {};
  }
  cuda::ContextHandle current = nullptr;
  if (gpu_->api().ctx_get_current(&current) == cuda::kSuccess && current != nullptr) [[likely]] {
    if (const LoadedModule* module = find(current)) [[likely]] {
      return enqueue(*module, arrays, call, stream);
    }
  }
  return launch_elsewhere(arrays, call, stream);
}

// The thread has no context, one of another GPU, or one that the kernel has not met.
Outcome<void> GpuKernel::launch_elsewhere(const Arrays& arrays, Call& call, void* stream) {
  const cuda::ContextHandle context = gpu_->context_here();
  const ContextScope scope(*gpu_, context);
  if (const auto entered = gpu_->driver().check(scope.status(), "making a context current"); !entered) {
    return fail_with(Status::kDriver, entered.error());
  }
  const LoadedModule* module = find(context);
  if (module == nullptr) {
    if (gpu_->capturing(static_cast<cuda::StreamHandle>(stream))) {
      return fail_with(Status::kNotPrepared,
                       fmt::format("the stream is being captured, and {} is not loaded in this context: call "
                                   "convtgen_prepare() with the context current before the capture begins",
                                   facts().source.symbol));
    }
    auto loaded = find_or_load(context);
    if (!loaded) {
      return std::unexpected(std::move(loaded.error()));
    }
    module = *loaded;
  }
  return enqueue(*module, arrays, call, stream);
}

}  // namespace

Outcome<std::shared_ptr<PreparedKernel>> Gpu::load(KernelFacts facts, Binary binary, const std::string& compiled_by) {
  auto kernel = std::make_shared<GpuKernel>(shared_from_this(), std::move(facts), std::move(binary), compiled_by);
  if (auto ready = kernel->ready_here(); !ready) {
    return std::unexpected(std::move(ready.error()));
  }
  return kernel;
}

}  // namespace convtgen::jit
