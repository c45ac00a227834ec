#include "runtime/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "generator/planner/chip/target.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/cuda_launch.h"
#include "runtime/device/cuda/cuda_tensor_map.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMaxGrid = std::numeric_limits<std::int32_t>::max();  // of the x axis
constexpr int kMaxCluster = 8;                                               // that every chip with clusters has
constexpr std::size_t kSlotBytes = 8;                                        // of Launch::arguments

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(std::shared_ptr<CudaContext> context, cuda::DevicePointer address, std::size_t bytes)
      : context_(std::move(context)), address_(address), bytes_(bytes) {}
  ~CudaBuffer() override {
    const CurrentContext current(*context_);
    (void)context_->api().mem_free(address_);
  }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  [[nodiscard]] std::uint64_t address() const override { return address_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<CudaContext> context_;
  cuda::DevicePointer address_;
  std::size_t bytes_;
};

class CudaKernel final : public LoadedKernel {
 public:
  CudaKernel(std::shared_ptr<CudaContext> context, cuda::ModuleHandle module)
      : context_(std::move(context)), module_(module) {}
  ~CudaKernel() override {
    const CurrentContext current(*context_);
    (void)context_->api().module_unload(module_);
  }
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  [[nodiscard]] bool belongs_to(const CudaContext& context) const { return context_.get() == &context; }

  std::string symbol;
  cuda::FunctionHandle function = nullptr;
  std::int64_t shared_allowed = kSharedWithoutOptIn;  // dynamic bytes a launch may have now
  std::optional<std::size_t> parameter_count;         // nothing where the driver is too old to tell

 private:
  std::shared_ptr<CudaContext> context_;
  cuda::ModuleHandle module_;
};

// Two events, destroyed with the object.
class EventPair {
 public:
  explicit EventPair(const CudaContext& context) : context_(context) {}
  ~EventPair() {
    for (cuda::EventHandle event : {start, end}) {
      if (event != nullptr) {
        (void)context_.api().event_destroy(event);
      }
    }
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;
  [[nodiscard]] Result<void> create() {
    if (Result<void> made = context_.check(context_.api().event_create(&start, cuda::kEventDefault), "making an event");
        !made) {
      return made;
    }
    return context_.check(context_.api().event_create(&end, cuda::kEventDefault), "making an event");
  }

  cuda::EventHandle start = nullptr;
  cuda::EventHandle end = nullptr;

 private:
  const CudaContext& context_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<CudaContext> context, CudaDeviceInfo info)
      : context_(std::move(context)), info_(std::move(info)) {}

  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kCuda; }
  [[nodiscard]] std::string name() const override { return info_.name; }
  [[nodiscard]] std::optional<Chip> chip() const override {
    return Chip{info_.capability, context_->driver().version(), info_.multiprocessors};
  }

  [[nodiscard]] Result<void> find_compiler() override { return check_nvrtc(); }
  [[nodiscard]] Compiled<Binary> compile(const KernelSource& source, const std::string& architecture) override {
    return compile_with_nvrtc(source, architecture, BinaryKind::kCubin);
  }
  [[nodiscard]] Result<std::unique_ptr<LoadedKernel>> load(const Binary& binary, const BinaryKernel& kernel) override;

  [[nodiscard]] Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  [[nodiscard]] Result<void> upload(Buffer& to, std::span<const std::byte> from) override;
  [[nodiscard]] Result<void> download(std::span<std::byte> to, const Buffer& from) override {
    return download_part(to, from, 0);
  }
  [[nodiscard]] Result<void> download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) override;
  [[nodiscard]] Result<void> poison(Buffer& buffer, std::byte value) override;

  [[nodiscard]] std::optional<std::size_t> free_memory() const override;
  [[nodiscard]] std::size_t timing_bytes() const override { return flush_ == nullptr ? flush_bytes() : 0; }

  [[nodiscard]] Result<void> run(LoadedKernel& kernel, const Launch& launch) override;
  [[nodiscard]] Result<double> time(std::span<const KernelLaunch> launches, int repeats) override;

 private:
  [[nodiscard]] Result<void> allow_shared(CudaKernel& kernel, std::int64_t bytes) const;
  [[nodiscard]] Result<CudaKernel*> checked(LoadedKernel& kernel, const Launch& launch) const;
  [[nodiscard]] Result<void> enqueue(const CudaKernel& kernel, const Launch& launch) const;
  [[nodiscard]] Result<void> enqueue_all(std::span<const KernelLaunch> launches) const;
  [[nodiscard]] std::size_t flush_bytes() const { return std::max<std::size_t>(2 * info_.l2_bytes, 1); }
  [[nodiscard]] Result<void> flush_l2();

  std::shared_ptr<CudaContext> context_;
  CudaDeviceInfo info_;
  std::unique_ptr<Buffer> flush_;  // made when first needed
};

std::size_t count_parameters(const cuda::Api& api, cuda::FunctionHandle function) {
  std::size_t count = 0, offset = 0, size = 0;
  while (api.func_get_param_info(function, count, &offset, &size) == cuda::kSuccess) {
    ++count;
  }
  return count;
}

Result<std::unique_ptr<LoadedKernel>> CudaDevice::load(const Binary& binary, const BinaryKernel& wanted) {
  if (binary.kind == BinaryKind::kHostLibrary) {
    return fail(fmt::format("{} was compiled for the host device; {} takes cubin or PTX", wanted.symbol, info_.name));
  }
  const cuda::Api& api = context_->api();
  const CurrentContext current(*context_);

  // The log is where the driver says what it has against PTX, which must end in a zero, as c_str() does.
  std::array<char, 8192> log{};
  std::array options = {cuda::kJitErrorLogBuffer, cuda::kJitErrorLogBufferSizeBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  cuda::ModuleHandle module = nullptr;
  const cuda::Status status =
      api.module_load_data_ex(&module, binary.bytes.c_str(), options.size(), options.data(), values.data());
  if (const Result<void> loaded = context_->check(
          status, fmt::format("loading {}, compiled for {}, on {} (compute capability {}, driver for CUDA {})",
                              wanted.symbol, binary.architecture, info_.name, capability_text(info_.capability),
                              version_text(context_->driver().version())));
      !loaded) {
    return fail(log[0] == '\0' ? loaded.error().message : fmt::format("{}\n{}", loaded.error().message, log.data()));
  }
  auto kernel = std::make_unique<CudaKernel>(context_, module);
  kernel->symbol = wanted.symbol;
  if (const Result<void> found =
          context_->check(api.module_get_function(&kernel->function, module, wanted.symbol.c_str()),
                          fmt::format("finding the kernel {}", wanted.symbol));
      !found) {
    return std::unexpected(found.error());
  }
  if (api.func_get_param_info != nullptr) {
    kernel->parameter_count = count_parameters(api, kernel->function);
  }
  if (const Result<void> allowed = allow_shared(*kernel, wanted.shared_bytes); !allowed) {
    return std::unexpected(allowed.error());
  }
  return kernel;
}

Result<void> CudaDevice::allow_shared(CudaKernel& kernel, std::int64_t bytes) const {
  if (bytes <= kernel.shared_allowed) {
    return {};
  }
  const cuda::Api& api = context_->api();
  int fixed = 0;
  if (Result<void> asked = context_->check(api.func_get_attribute(&fixed, cuda::kSharedSizeBytes, kernel.function),
                                           fmt::format("asking for the shared memory of {}", kernel.symbol));
      !asked) {
    return asked;
  }
  if (bytes + fixed > info_.max_shared_bytes) {
    return fail(fmt::format("{} needs {} bytes of shared memory a block; {} has {}", kernel.symbol, bytes + fixed,
                            info_.name, info_.max_shared_bytes));
  }
  Result<void> set = context_->check(
      api.func_set_attribute(kernel.function, cuda::kMaxDynamicSharedSizeBytes, static_cast<int>(bytes)),
      fmt::format("asking for {} bytes of shared memory for {}", bytes, kernel.symbol));
  if (set) {
    kernel.shared_allowed = bytes;
  }
  return set;
}

Result<std::unique_ptr<Buffer>> CudaDevice::allocate(std::size_t bytes) {
  const CurrentContext current(*context_);
  cuda::DevicePointer address = 0;
  // The driver refuses to allocate nothing, but a batch of zero needs a buffer too.
  if (const Result<void> made = context_->check(
          context_->api().mem_alloc(&address, std::max<std::size_t>(bytes, 1)),
          fmt::format("allocating {} bytes on {}, which has {}", bytes, info_.name, info_.memory_bytes));
      !made) {
    return std::unexpected(made.error());
  }
  return std::make_unique<CudaBuffer>(context_, address, bytes);
}

std::optional<std::size_t> CudaDevice::free_memory() const {
  const CurrentContext current(*context_);
  std::size_t free = 0, total = 0;
  return context_->api().mem_get_info(&free, &total) == cuda::kSuccess ? std::optional(free) : std::nullopt;
}

Result<void> CudaDevice::upload(Buffer& to, std::span<const std::byte> from) {
  if (from.size() > to.bytes()) {
    return fail(fmt::format("upload of {} bytes to a buffer of {}", from.size(), to.bytes()));
  }
  if (from.empty()) {
    return {};
  }
  const CurrentContext current(*context_);
  const std::string what = fmt::format("copying {} bytes to {}", from.size(), info_.name);
  if (Result<void> copied = context_->check(
          context_->api().memcpy_to_device_async(to.address(), from.data(), from.size(), context_->stream()), what);
      !copied) {
    return copied;
  }
  return context_->synchronise(what);
}

Result<void> CudaDevice::download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) {
  if (offset > from.bytes() || to.size() > from.bytes() - offset) {
    return fail(fmt::format("download of {} bytes from byte {} of a buffer of {}", to.size(), offset, from.bytes()));
  }
  if (to.empty()) {
    return {};
  }
  const CurrentContext current(*context_);
  const std::string what = fmt::format("copying {} bytes from {}", to.size(), info_.name);
  if (Result<void> copied = context_->check(
          context_->api().memcpy_to_host_async(to.data(), from.address() + offset, to.size(), context_->stream()),
          what);
      !copied) {
    return copied;
  }
  return context_->synchronise(what);
}

Result<void> CudaDevice::poison(Buffer& buffer, std::byte value) {
  if (buffer.bytes() == 0) {
    return {};
  }
  const CurrentContext current(*context_);
  const std::string what = fmt::format("filling {} bytes on {}", buffer.bytes(), info_.name);
  if (Result<void> filled =
          context_->check(context_->api().memset_d8_async(buffer.address(), std::to_integer<unsigned char>(value),
                                                          buffer.bytes(), context_->stream()),
                          what);
      !filled) {
    return filled;
  }
  return context_->synchronise(what);
}

// The kernel as this device's own, with a launch that it can take.
Result<CudaKernel*> CudaDevice::checked(LoadedKernel& kernel, const Launch& launch) const {
  auto* own = dynamic_cast<CudaKernel*>(&kernel);
  if (own == nullptr || !own->belongs_to(*context_)) {
    return fail(fmt::format("the kernel was loaded on another device than {}", info_.name));
  }
  if (launch.blocks < 0 || launch.blocks > kMaxGrid) {
    return fail(fmt::format("{}: a grid of {} blocks; legal are 0 to {}", own->symbol, launch.blocks, kMaxGrid));
  }
  if (launch.threads < 1 || launch.threads > 1024) {
    return fail(fmt::format("{}: a block of {} threads; legal are 1 to 1024", own->symbol, launch.threads));
  }
  if (launch.shared_bytes < 0 || launch.shared_bytes > info_.max_shared_bytes) {
    return fail(fmt::format("{}: {} bytes of dynamic shared memory a block; legal are 0 to {}", own->symbol,
                            launch.shared_bytes, info_.max_shared_bytes));
  }
  if (launch.cluster < 1 || launch.cluster > kMaxCluster) {
    return fail(fmt::format("{}: a cluster of {} blocks; legal are 1 to {}", own->symbol, launch.cluster, kMaxCluster));
  }
  if (launch.blocks % launch.cluster != 0) {
    return fail(fmt::format("{}: a grid of {} blocks is no multiple of the cluster's {}", own->symbol, launch.blocks,
                            launch.cluster));
  }
  if (launch.cluster > 1 && (info_.capability < 90 || context_->api().launch_kernel_ex == nullptr)) {
    return fail(fmt::format("{}: {} can't run clusters; they need sm_90 and a driver for CUDA 12.0 or later",
                            own->symbol, info_.name));
  }
  if (!launch.tensor_maps.empty() && info_.capability < 90) {
    return fail(fmt::format("{}: {} has no tensor maps; they need sm_90 or later", own->symbol, info_.name));
  }
  for (const TensorMapArgument& argument : launch.tensor_maps) {
    if (argument.parameter >= launch.arguments.size()) {
      return fail(fmt::format("{}: a tensor map for parameter {} of {}", own->symbol, argument.parameter,
                              launch.arguments.size()));
    }
  }
  if (own->parameter_count && *own->parameter_count != launch.arguments.size()) {
    return fail(
        fmt::format("{}: {} arguments for {} parameters", own->symbol, launch.arguments.size(), *own->parameter_count));
  }
  return own;
}

Result<void> CudaDevice::enqueue(const CudaKernel& kernel, const Launch& launch) const {
  static_assert(sizeof(launch.arguments[0]) == kSlotBytes);
  std::vector<std::uint64_t> slots = launch.arguments;
  std::vector<void*> parameters;
  parameters.reserve(slots.size());
  for (std::uint64_t& slot : slots) {
    parameters.push_back(&slot);  // the driver reads as many bytes as the parameter has, lowest first
  }
  std::vector<cuda::EncodedTensorMap> maps;
  maps.reserve(launch.tensor_maps.size());  // parameters point into it
  for (const TensorMapArgument& argument : launch.tensor_maps) {
    const Result<cuda::EncodedTensorMap> encoded = encode_tensor_map(context_->driver(), argument.map);
    if (!encoded) {
      return fail(fmt::format("{}: parameter {}: {}", kernel.symbol, argument.parameter, encoded.error().message));
    }
    parameters[argument.parameter] = &maps.emplace_back(*encoded);
  }
  std::string what = fmt::format("launching {} ({} blocks of {} threads, {} bytes of shared memory)", kernel.symbol,
                                 launch.blocks, launch.threads, launch.shared_bytes);
  if (launch.cluster > 1) {
    what += fmt::format(" in clusters of {}", launch.cluster);
  }
  const CudaLaunch own{.function = kernel.function,
                       .blocks = launch.blocks,
                       .threads = launch.threads,
                       .cluster = launch.cluster,
                       .shared_bytes = launch.shared_bytes,
                       .overlaps = launch.pdl_buffer != 0,
                       .stream = context_->stream()};
  return context_->check(convtgen::enqueue(context_->driver(), info_.capability, own, parameters.data()), what);
}

Result<void> CudaDevice::run(LoadedKernel& kernel, const Launch& launch) {
  const Result<CudaKernel*> own = checked(kernel, launch);
  if (!own) {
    return std::unexpected(own.error());
  }
  if (launch.blocks == 0) {
    return {};
  }
  const CurrentContext current(*context_);
  if (Result<void> allowed = allow_shared(**own, launch.shared_bytes); !allowed) {
    return allowed;
  }
  if (Result<void> launched = enqueue(**own, launch); !launched) {
    return launched;
  }
  return context_->synchronise(fmt::format("running {}", (*own)->symbol));
}

// Of launches that run() has taken.
Result<void> CudaDevice::enqueue_all(std::span<const KernelLaunch> launches) const {
  for (const auto& [kernel, launch] : launches) {
    if (launch.blocks == 0) {
      continue;
    }
    if (Result<void> launched = enqueue(static_cast<const CudaKernel&>(kernel), launch); !launched) {
      return launched;
    }
  }
  return {};
}

// Writes twice the L2 cache, so that nothing of the last run is left in it.
Result<void> CudaDevice::flush_l2() {
  if (flush_ == nullptr) {
    Result<std::unique_ptr<Buffer>> scratch = allocate(flush_bytes());
    if (!scratch) {
      return std::unexpected(scratch.error());
    }
    flush_ = std::move(*scratch);
  }
  return context_->check(context_->api().memset_d8_async(flush_->address(), 0, flush_->bytes(), context_->stream()),
                         "flushing the L2 cache");
}

Result<double> CudaDevice::time(std::span<const KernelLaunch> launches, int repeats) {
  if (repeats < 1) {
    return fail(fmt::format("timing of {} runs; legal is 1 or more", repeats));
  }
  std::string names;
  for (const auto& [kernel, launch] : launches) {
    if (const Result<void> warmed = run(kernel, launch); !warmed) {
      return std::unexpected(warmed.error());
    }
    names += (names.empty() ? "" : ", ") + static_cast<const CudaKernel&>(kernel).symbol;
  }
  if (std::ranges::all_of(launches, [](const KernelLaunch& each) { return each.launch.blocks == 0; })) {
    return 0.0;
  }
  const CurrentContext current(*context_);
  const cuda::Api& api = context_->api();
  EventPair events(*context_);
  if (const Result<void> made = events.create(); !made) {
    return std::unexpected(made.error());
  }
  std::vector<double> milliseconds;
  for (int i = 0; i < repeats; ++i) {
    // The flush is still running when the launch is enqueued after it, so the time has no host in it.
    Result<void> done = flush_l2();
    if (done) {
      done = context_->check(api.event_record(events.start, context_->stream()), "recording an event");
    }
    if (done) {
      done = enqueue_all(launches);
    }
    if (done) {
      done = context_->check(api.event_record(events.end, context_->stream()), "recording an event");
    }
    if (done) {
      done = context_->check(api.event_synchronize(events.end), fmt::format("running {}", names));
    }
    float elapsed = 0;
    if (done) {
      done = context_->check(api.event_elapsed_time(&elapsed, events.start, events.end), "reading the time");
    }
    if (!done) {
      return std::unexpected(done.error());
    }
    milliseconds.push_back(elapsed);
  }
  return median(std::move(milliseconds));
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(int ordinal) {
  Result<std::shared_ptr<const CudaDriver>> driver = CudaDriver::open();
  if (!driver) {
    return std::unexpected(driver.error());
  }
  const Result<int> count = (*driver)->device_count();
  if (!count) {
    return std::unexpected(count.error());
  }
  if (*count == 0) {
    return fail(fmt::format("the CUDA driver ({}) sees no GPU", (*driver)->path()));
  }
  if (ordinal < 0 || ordinal >= *count) {
    return fail(fmt::format("no GPU {}: there are {}, counted from 0", ordinal, *count));
  }
  Result<CudaDeviceInfo> info = (*driver)->device_info(ordinal);
  if (!info) {
    return std::unexpected(info.error());
  }
  if (const auto target = target_of_chip(info->capability); !target) {
    return fail(fmt::format("{} can't be used: {}", info->name, target.error().message));
  }
  Result<std::shared_ptr<CudaContext>> context = CudaContext::open(std::move(*driver), ordinal);
  if (!context) {
    return std::unexpected(context.error());
  }
  return std::make_unique<CudaDevice>(std::move(*context), std::move(*info));
}

}  // namespace convtgen
