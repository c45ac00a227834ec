// A device with the kernels that are ready on it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/jit/gpu.h"
#include "runtime/jit/host_kernel.h"
#include "runtime/jit/kernel.h"
#include "runtime/make/cubin_maker.h"

namespace convtgen::jit {

/// The look-up key of a layer and a direction: the canonical form of the layer with this direction alone.
class KernelKey {
 public:
  explicit KernelKey(Layer layer, Direction direction = Direction::kForward);
  /// With this direction alone.
  [[nodiscard]] const Layer& layer() const { return layer_; }
  [[nodiscard]] Direction direction() const { return layer_.directions.front(); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t hash() const { return hash_; }
  bool operator==(const KernelKey& other) const { return hash_ == other.hash_ && text_ == other.text_; }

 private:
  Layer layer_;
  std::string text_;
  std::size_t hash_ = 0;
};

using KernelPointer = std::shared_ptr<PreparedKernel>;

struct DeviceOptions {
  /// Kernels without a holder that the device keeps ready; the least recently used is removed first.
  std::size_t most_kernels = 256;
  std::string store_folder = {};  // empty: the user's
};

struct PrepareAllOptions {
  int threads = 0;  // that work at once; 0: one a core
  /// Called after each layer, from any of the threads but one at a time: its place in the list, how many are done, and
  /// its failure or null. May be empty; must not throw.
  std::function<void(std::size_t index, std::size_t done, const Failure* failure)> progress;
  std::stop_token stop;
};

/// Thread-safe. It must outlive no kernel: kernels keep what they need.
class JitDevice {
 public:
  /// "cuda" (the first GPU), "cuda:N", "host", "host:ARCH", or "auto": a GPU where there is one and an NVRTC for it,
  /// else the host device, with a note of the reason. Kernels are those of ARCH, else of $CONVTGEN_ARCHITECTURE, else a
  /// GPU's own, on the host device the oldest ones: any do, and these ask the least of it.
  /// Errors: kInvalidArgument, another word, or an architecture that does not run there; kNoDevice; kForked.
  [[nodiscard]] static Outcome<std::shared_ptr<JitDevice>> open(std::string_view which, DeviceOptions options = {});
  ~JitDevice();
  JitDevice(const JitDevice&) = delete;
  JitDevice& operator=(const JitDevice&) = delete;

  /// "cuda:0 (NVIDIA H200, compute capability 9.0)", "cuda:0 (..., as sm_80)" or "host (8 workers)".
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_host() const { return gpu_ == nullptr; }
  /// In the driver's order; -1 on the host device.
  [[nodiscard]] int ordinal() const { return gpu_ ? gpu_->info().ordinal : -1; }
  /// Whose kernels it runs: a GPU its own chip's or an older one's.
  [[nodiscard]] const Target& target() const { return target_; }
  /// As in the options: empty for the user's.
  [[nodiscard]] const std::string& store_folder() const { return options_.store_folder; }

  /// The kernel, ready in the calling thread's context. If several threads prepare one layer, one makes it and the
  /// others wait. A source that the compiler refused is not tried again (Failure::lasting); other failures are not
  /// remembered.
  /// Errors: those of its making; kCancelled.
  [[nodiscard]] Outcome<KernelPointer> prepare(const KernelKey& layer, std::stop_token stop = {});
  /// The kernel if it is there, else null; nothing is made or loaded.
  [[nodiscard]] KernelPointer find(const KernelKey& layer);
  /// prepare() for each, several at once; results in the order of the layers.
  [[nodiscard]] std::vector<Outcome<KernelPointer>> prepare_all(std::span<const KernelKey* const> layers,
                                                                const PrepareAllOptions& options = {});
  /// Prepares and launches in one call. In a capture the kernel must be ready (kNotPrepared), and is then never
  /// released.
  [[nodiscard]] Outcome<void> run(const KernelKey& layer, const Arrays& arrays, const InputSizes& sizes, void* stream);

  /// Kernels that are ready.
  [[nodiscard]] std::size_t kernel_count() const;

 private:
  JitDevice() = default;
  struct Hash {
    std::size_t operator()(const KernelKey* key) const { return key->hash(); }
  };
  struct Equal {
    bool operator()(const KernelKey* a, const KernelKey* b) const { return *a == *b; }
  };
  struct Slot {
    KernelKey key;
    KernelPointer kernel;                              // null while it is being made
    std::shared_ptr<const Failure> failure = nullptr;  // a lasting one
  };

  /// Of an open GPU: whose kernels it runs.
  [[nodiscard]] Outcome<void> choose_chip();
  [[nodiscard]] Outcome<KernelPointer> make(const KernelKey& layer, std::stop_token stop);
  [[nodiscard]] Outcome<KernelPointer> make_on_gpu(const KernelKey& layer, std::stop_token stop);
  [[nodiscard]] Outcome<KernelPointer> make_on_host(const KernelKey& layer, std::stop_token stop);
  void touch(PreparedKernel& kernel);
  [[nodiscard]] std::vector<KernelPointer> take_surplus();

  DeviceOptions options_;
  std::string name_;
  std::shared_ptr<Gpu> gpu_;      // null on the host device
  std::shared_ptr<Device> host_;  // null on a GPU
  Chip chip_;                     // of a GPU, with whose kernels it runs
  Target target_;
  std::unique_ptr<CubinMaker> cubins_;  // null on the host device

  mutable std::shared_mutex mutex_;
  std::condition_variable_any made_;
  std::unordered_map<const KernelKey*, std::unique_ptr<Slot>, Hash, Equal> slots_;
  std::atomic<std::uint64_t> clock_{0};
};

}  // namespace convtgen::jit
