#include "runtime/device/host/host_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "runtime/device/host/compiler.h"
#include "runtime/device/host/library.h"
#include "runtime/device/host/memory.h"
#include "runtime/device/host/process.h"
#include "runtime/device/host/report.h"
#include "runtime/device/host/worker.h"

namespace convtgen {
namespace host {
namespace {

constexpr std::int64_t kMostBlocks = 2147483647;
constexpr std::int64_t kMostShared = 227 << 10;  // of sm_90
// Every stack is two mappings, and a process has 65,530 by default.
constexpr unsigned kMostStacks = 24000;

class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::shared_ptr<BufferTable> table, std::unique_ptr<BufferMemory> memory)
      : table_(std::move(table)), memory_(std::move(memory)) {
    table_->insert(memory_.get());
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() override { table_->erase(memory_.get()); }

  [[nodiscard]] std::uint64_t address() const override { return reinterpret_cast<std::uint64_t>(memory_->data()); }
  [[nodiscard]] std::size_t bytes() const override { return memory_->bytes(); }
  [[nodiscard]] BufferMemory& memory() const { return *memory_; }
  [[nodiscard]] const BufferTable* table() const { return table_.get(); }

 private:
  std::shared_ptr<BufferTable> table_;
  std::unique_ptr<BufferMemory> memory_;
};

class HostKernel final : public LoadedKernel {
 public:
  HostKernel(std::unique_ptr<Library> library, std::string symbol, int threads)
      : library_(std::move(library)), symbol_(std::move(symbol)), threads_(threads) {}
  [[nodiscard]] const Library& library() const { return *library_; }
  [[nodiscard]] const std::string& symbol() const { return symbol_; }
  [[nodiscard]] int threads() const { return threads_; }

 private:
  std::unique_ptr<Library> library_;
  std::string symbol_;
  int threads_ = 0;
};

// A permutation of the clusters of a launch: i -> (i * factor + shift) % count.
class ClusterOrder {
 public:
  ClusterOrder(std::uint32_t count, std::uint64_t seed) : count_(count) {
    Random random(seed ^ 0x626c6f636b73ULL);
    shift_ = random.below(count);
    factor_ = random.below(count) | 1;
    while (std::gcd(factor_, std::uint64_t{count}) != 1) {
      ++factor_;
    }
  }
  [[nodiscard]] std::uint32_t operator()(std::uint64_t i) const {
    return static_cast<std::uint32_t>((i * factor_ + shift_) % count_);
  }

 private:
  std::uint64_t count_;
  std::uint64_t factor_ = 1;
  std::uint64_t shift_ = 0;
};

class HostDeviceImpl final : public HostDevice {
 public:
  explicit HostDeviceImpl(HostOptions options) : options_(std::move(options)), seed_(options_.seed) {
    workers_ =
        options_.workers > 0 ? options_.workers : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }

  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kHost; }
  [[nodiscard]] std::string name() const override { return fmt::format("host ({} workers)", workers_); }
  void set_seed(std::uint64_t seed) override { seed_ = seed; }
  [[nodiscard]] std::uint64_t seed() const override { return seed_; }
  [[nodiscard]] int workers() const override { return workers_; }

  [[nodiscard]] Result<void> find_compiler() override;
  [[nodiscard]] Compiled<Binary> compile(const KernelSource& source, const std::string& architecture) override;
  [[nodiscard]] std::optional<Key> library_key(const KernelSource& source) override;
  [[nodiscard]] Result<std::unique_ptr<LoadedKernel>> load(const Binary& binary, const BinaryKernel& kernel) override;
  [[nodiscard]] Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  [[nodiscard]] Result<void> upload(Buffer& to, std::span<const std::byte> from) override;
  [[nodiscard]] Result<void> download(std::span<std::byte> to, const Buffer& from) override;
  [[nodiscard]] Result<void> download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) override;
  [[nodiscard]] Result<void> poison(Buffer& buffer, std::byte value) override;
  [[nodiscard]] Result<void> run(LoadedKernel& kernel, const Launch& launch) override {
    return run_from(kernel, launch, 0);
  }
  [[nodiscard]] Result<void> run_from(LoadedKernel& kernel, const Launch& launch, std::int64_t first) override;
  [[nodiscard]] Result<void> mark_written(Buffer& buffer, std::size_t offset, std::size_t bytes) override;
  [[nodiscard]] Result<double> time(std::span<const KernelLaunch> launches, int repeats) override;

 private:
  [[nodiscard]] Result<const HostCompiler*> compiler();
  [[nodiscard]] Result<const HostBuffer*> own(const Buffer& buffer) const;
  [[nodiscard]] static Result<void> check(const HostKernel& kernel, const Launch& launch);
  [[nodiscard]] Result<void> run_blocks(const HostKernel& kernel, const LaunchContext& context, std::uint32_t first,
                                        std::span<const unsigned long long> slots);

  HostOptions options_;
  std::atomic<std::uint64_t> seed_;
  int workers_ = 1;
  std::shared_ptr<BufferTable> buffers_ = std::make_shared<BufferTable>();

  std::mutex compiler_mutex_;
  std::optional<HostCompiler> compiler_;

  std::mutex launch_mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;  // kept for their stacks
};

Result<const HostCompiler*> HostDeviceImpl::compiler() {
  const std::lock_guard lock(compiler_mutex_);
  if (!compiler_) {
    Result<HostCompiler> found = find_host_compiler(options_.compiler, options_.portable);
    if (!found) {
      return std::unexpected(std::move(found.error()));  // it may come: looked for again
    }
    compiler_ = *std::move(found);
  }
  return &*compiler_;
}

Result<void> HostDeviceImpl::find_compiler() {
  if (auto found = compiler(); !found) {
    return std::unexpected(std::move(found.error()));
  }
  return {};
}

Compiled<Binary> HostDeviceImpl::compile(const KernelSource& source, const std::string& /*architecture*/) {
  const auto compiler = this->compiler();
  if (!compiler) {
    return std::unexpected(compiler.error());
  }
  Compiled<std::string> library = compile_host_library(**compiler, host_translation_unit(source), source.symbol);
  if (!library) {
    return std::unexpected(library.error());
  }
  return library_binary(*std::move(library), source);
}

std::optional<Key> HostDeviceImpl::library_key(const KernelSource& source) {
  const auto compiler = this->compiler();
  return compiler ? std::optional(host_library_key(**compiler, host_translation_unit(source))) : std::nullopt;
}

Result<std::unique_ptr<LoadedKernel>> HostDeviceImpl::load(const Binary& binary, const BinaryKernel& kernel) {
  if (binary.kind != BinaryKind::kHostLibrary) {
    return fail("the host device loads only what it compiled: this binary is for a GPU");
  }
  auto library = Library::load(binary.bytes, kernel.symbol);
  if (!library) {
    return std::unexpected(library.error());
  }
  return std::make_unique<HostKernel>(std::move(*library), kernel.symbol, kernel.threads);
}

Result<std::unique_ptr<Buffer>> HostDeviceImpl::allocate(std::size_t bytes) {
  auto memory = BufferMemory::make(bytes);
  if (!memory) {
    return std::unexpected(memory.error());
  }
  return std::make_unique<HostBuffer>(buffers_, std::move(*memory));
}

Result<const HostBuffer*> HostDeviceImpl::own(const Buffer& buffer) const {
  const auto* own = dynamic_cast<const HostBuffer*>(&buffer);
  if (own == nullptr || own->table() != buffers_.get()) {
    return fail("the buffer belongs to another device");
  }
  return own;
}

Result<void> HostDeviceImpl::upload(Buffer& to, std::span<const std::byte> from) {
  const auto buffer = own(to);
  if (!buffer) {
    return std::unexpected(buffer.error());
  }
  if (from.size() > to.bytes()) {
    return fail(fmt::format("an upload of {} bytes to a buffer of {}", from.size(), to.bytes()));
  }
  if (!from.empty()) {
    std::memcpy((*buffer)->memory().data(), from.data(), from.size());
    (*buffer)->memory().mark_written(0, from.size());
  }
  return {};
}

Result<void> HostDeviceImpl::download(std::span<std::byte> to, const Buffer& from) {
  return download_part(to, from, 0);
}

Result<void> HostDeviceImpl::download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) {
  const auto buffer = own(from);
  if (!buffer) {
    return std::unexpected(buffer.error());
  }
  if (offset > from.bytes() || to.size() > from.bytes() - offset) {
    return fail(
        fmt::format("a download of {} bytes at offset {} from a buffer of {}", to.size(), offset, from.bytes()));
  }
  if (!to.empty()) {
    std::memcpy(to.data(), (*buffer)->memory().data() + offset, to.size());
  }
  return {};
}

Result<void> HostDeviceImpl::poison(Buffer& buffer, std::byte value) {
  const auto mine = own(buffer);
  if (!mine) {
    return std::unexpected(mine.error());
  }
  std::memset((*mine)->memory().data(), static_cast<int>(value), buffer.bytes());
  return (*mine)->memory().mark_never_written();
}

Result<void> HostDeviceImpl::check(const HostKernel& kernel, const Launch& launch) {
  const auto wrong = [&](std::string what) { return fail(fmt::format("launch of '{}': {}", kernel.symbol(), what)); };
  if (launch.blocks < 0 || launch.blocks > kMostBlocks) {
    return wrong(fmt::format("{} blocks; a grid has 0 to {}", launch.blocks, kMostBlocks));
  }
  if (launch.threads < 1 || launch.threads > static_cast<int>(kMaxThreads)) {
    return wrong(fmt::format("{} threads; a block has 1 to {}", launch.threads, kMaxThreads));
  }
  if (kernel.threads() > 0 && launch.threads > kernel.threads()) {
    return wrong(
        fmt::format("{} threads; the kernel is made for {} (its launch bounds)", launch.threads, kernel.threads()));
  }
  if (launch.shared_bytes < 0 || launch.shared_bytes > kMostShared) {
    return wrong(fmt::format("{} bytes of shared memory; a block has 0 to {}", launch.shared_bytes, kMostShared));
  }
  const int own = kernel.library().cluster();
  if (own > 1 && launch.cluster != 1 && launch.cluster != own) {
    return wrong(fmt::format("a cluster of {} blocks; the kernel is made for {}", launch.cluster, own));
  }
  const int cluster = std::max(own, launch.cluster);
  if (launch.cluster < 1 || cluster > static_cast<int>(kMaxCluster) || launch.blocks % cluster != 0) {
    return wrong(fmt::format("a cluster of {} blocks in a grid of {}; legal are 1 to {} that divide the grid", cluster,
                             launch.blocks, kMaxCluster));
  }
  if (launch.arguments.size() != static_cast<std::size_t>(kernel.library().parameter_count())) {
    return wrong(fmt::format("{} arguments; the kernel has {} parameters", launch.arguments.size(),
                             kernel.library().parameter_count()));
  }
  for (const TensorMapArgument& argument : launch.tensor_maps) {
    if (argument.parameter >= launch.arguments.size()) {
      return wrong(
          fmt::format("a tensor map for parameter {}; the kernel has {}", argument.parameter, launch.arguments.size()));
    }
    if (auto checked = check_tensor_map(argument.map); !checked) {
      return wrong(fmt::format("parameter {}: {}", argument.parameter, checked.error().message));
    }
  }
  return {};
}

Result<void> HostDeviceImpl::mark_written(Buffer& buffer, std::size_t offset, std::size_t bytes) {
  const auto mine = own(buffer);
  if (!mine) {
    return std::unexpected(mine.error());
  }
  if (offset > buffer.bytes() || bytes > buffer.bytes() - offset) {
    return fail(fmt::format("{} bytes at offset {} of a buffer of {}", bytes, offset, buffer.bytes()));
  }
  (*mine)->memory().mark_written(offset, bytes);
  return {};
}

Result<void> HostDeviceImpl::run_from(LoadedKernel& loaded, const Launch& launch, std::int64_t first) {
  const auto* kernel = dynamic_cast<const HostKernel*>(&loaded);
  if (kernel == nullptr) {
    return fail("the kernel was loaded on another device");
  }
  if (auto checked = check(*kernel, launch); !checked) {
    return checked;
  }
  const int cluster = std::max(launch.cluster, kernel->library().cluster());
  if (first < 0 || first > launch.blocks || first % cluster != 0) {
    return fail(fmt::format("launch of '{}': {} blocks, from {} on", kernel->symbol(), launch.blocks, first));
  }
  if (first == launch.blocks) {
    return {};
  }
  std::vector<Region> regions = buffers_->snapshot();
  if (launch.pdl_buffer != 0) {
    const auto pdl_buffer = std::ranges::find(regions, launch.pdl_buffer, &Region::begin);
    if (pdl_buffer == regions.end()) {
      return fail(fmt::format("launch of '{}': no buffer begins at its PDL buffer's address {:#x}", kernel->symbol(),
                              launch.pdl_buffer));
    }
    pdl_buffer->is_pdl_buffer = true;
  }
  std::vector<unsigned long long> slots(launch.arguments.begin(), launch.arguments.end());
  for (const TensorMapArgument& argument : launch.tensor_maps) {
    slots[argument.parameter] = reinterpret_cast<std::uintptr_t>(&argument.map);
  }
  LaunchContext context;
  context.entry = kernel->library().entry();
  context.slots = slots.data();
  context.blocks = static_cast<std::uint32_t>(launch.blocks);
  context.threads = static_cast<std::uint32_t>(launch.threads);
  context.cluster = static_cast<std::uint32_t>(cluster);
  context.shared_bytes = static_cast<std::uint32_t>(launch.shared_bytes);
  context.shared_stride = std::max(128U, (context.shared_bytes + 127) / 128 * 128);
  context.asynchronous = kernel->library().asynchronous() || context.cluster > 1;
  context.races = options_.races;
  context.seed = seed_;
  context.on_shared_read = options_.on_shared_read ? &options_.on_shared_read : nullptr;
  context.regions = regions;
  context.constants = kernel->library().constants();
  context.library_base = kernel->library().base();
  context.tensor_maps = launch.tensor_maps;
  const std::lock_guard lock(launch_mutex_);
  return run_blocks(*kernel, context, static_cast<std::uint32_t>(first), slots);
}

Result<void> HostDeviceImpl::run_blocks(const HostKernel& kernel, const LaunchContext& context, std::uint32_t first,
                                        std::span<const unsigned long long> slots) {
  const std::uint32_t clusters = (context.blocks - first) / context.cluster;
  const std::uint32_t most = std::max(1u, kMostStacks / (context.threads * context.cluster));
  const std::uint32_t count = std::min({static_cast<std::uint32_t>(workers_), clusters, most});
  while (idle_.size() < count) {
    idle_.push_back(std::make_unique<Worker>());
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (auto begun = idle_[i]->begin_launch(context); !begun) {
      return begun;
    }
  }
  const ClusterOrder order(clusters, context.seed);
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> stopped = false;
  std::vector<std::optional<Fault>> faults(count);
  const auto work = [&](std::uint32_t i) {
    while (!stopped.load(std::memory_order_relaxed)) {
      const std::uint64_t turn = next.fetch_add(1, std::memory_order_relaxed);
      if (turn >= clusters) {
        return;
      }
      faults[i] = idle_[i]->run_cluster(first + order(turn) * context.cluster);
      if (faults[i]) {
        stopped = true;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 1; i < count; ++i) {
      threads.emplace_back(work, i);
    }
    work(0);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (faults[i]) {
      return fail(describe(*faults[i], kernel.library(), context, *idle_[i], slots, kernel.symbol()));
    }
  }
  return {};
}

Result<double> HostDeviceImpl::time(std::span<const KernelLaunch> launches, int repeats) {
  if (repeats < 1) {
    return fail(fmt::format("time() of {} repeats; at least 1", repeats));
  }
  std::vector<double> milliseconds;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& [kernel, launch] : launches) {
      if (auto ran = run(kernel, launch); !ran) {
        return std::unexpected(ran.error());
      }
    }
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  milliseconds.erase(milliseconds.begin());
  const auto middle = milliseconds.begin() + repeats / 2;
  std::ranges::nth_element(milliseconds, middle);
  return *middle;
}

}  // namespace
}  // namespace host

Result<std::unique_ptr<HostDevice>> open_host_device(HostOptions options) {
  if (options.workers < 0) {
    return fail(fmt::format("a host device of {} workers; at least 1, or 0 for one a core", options.workers));
  }
  return std::make_unique<host::HostDeviceImpl>(std::move(options));
}

Result<std::string> host_compiler_path(const HostOptions& options) {
  const auto compiler = host::find_host_compiler(options.compiler, options.portable);
  if (!compiler) {
    return std::unexpected(compiler.error());
  }
  return host::path_of_program(compiler->command.front());
}

HostReport inspect_host(const HostOptions& options) {
  HostReport report;
  if (const auto compiler = host::find_host_compiler(options.compiler)) {
    report.compiler = fmt::format("{} ({})", fmt::join(compiler->command, " "), compiler->version);
  } else {
    report.compiler_problem = compiler.error().message;
  }
  return report;
}

}  // namespace convtgen
