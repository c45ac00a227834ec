#include "runtime/jit/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>

#include "generator/language/language.h"
#include "generator/layer/directions.h"
#include "runtime/compile/code_here.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/open/device_name.h"
#include "runtime/jit/dump.h"
#include "runtime/make/choose.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"
#include "runtime/records/record.h"
#include "runtime/support/clock.h"
#include "runtime/support/counters.h"
#include "runtime/support/log.h"

namespace convtgen::jit {
namespace {

Failure cancelled() {
  return {Status::kCancelled, "cancelled"};
}

}  // namespace

KernelKey::KernelKey(Layer layer, Direction direction) : layer_(in_direction(std::move(layer), direction)) {
  text_ = canonical_form(layer_);
  hash_ = std::hash<std::string>()(text_);
}

Outcome<std::shared_ptr<JitDevice>> JitDevice::open(std::string_view which, DeviceOptions options) {
  const Result<DeviceName> named = device_named(which);
  if (!named) {
    return fail_with(Status::kInvalidArgument, named.error());
  }
  using Kind = DeviceName::Kind;
  std::shared_ptr<JitDevice> device(new JitDevice);
  device->options_ = std::move(options);
  if (named->kind != Kind::kHost) {
    auto gpu = Gpu::open(named->ordinal);
    if (!gpu && named->kind != Kind::kAuto) {
      return std::unexpected(std::move(gpu.error()));
    }
    std::string why;
    if (!gpu) {
      why = gpu.error().message;
    } else if (named->kind == Kind::kAuto) {
      const auto target = target_of_chip((*gpu)->info().capability);
      const auto nvrtc = target ? check_nvrtc() : std::unexpected(target.error());
      why = nvrtc ? std::string() : nvrtc.error().message;
    }
    if (why.empty()) {
      device->gpu_ = *std::move(gpu);
      const CudaDeviceInfo& info = device->gpu_->info();
      if (auto opened = device->choose_chip(); !opened) {
        return std::unexpected(std::move(opened.error()));
      }
      device->name_ = fmt::format("cuda:{} ({}, compute capability {}{})", info.ordinal, info.name,
                                  capability_text(info.capability),
                                  device->chip_.as.empty() ? "" : fmt::format(", as {}", device->chip_.as));
      device->cubins_ = std::make_unique<CubinMaker>(store_of(device->options_.store_folder), info.name);
      return device;
    }
    log(LogLevel::kWarning, fmt::format("kernels run on the host device, which is slow: {}", why));
  }
  auto opened = open_host_device();
  if (!opened) {
    return fail_with(Status::kNoDevice, opened.error());
  }
  device->host_ = *std::move(opened);
  auto target = host_target_here(named->architecture, known_targets().front().architecture);
  if (!target) {
    return fail_with(Status::kInvalidArgument, target.error());
  }
  device->target_ = *std::move(target);
  device->name_ = device->host_->name();
  if (device->target_.architecture != known_targets().front().architecture || !named->architecture.empty()) {
    device->name_ += fmt::format(", kernels of {}", device->target_.architecture);
  }
  return device;
}

Outcome<void> JitDevice::choose_chip() {
  chip_ = gpu_->chip();
  if (!target_of_chip(chip_.capability)) {
    return {};  // each layer reports that it has no kernels
  }
  auto chip = chip_here(chip_);
  if (!chip) {
    return fail_with(Status::kInvalidArgument, chip.error());
  }
  chip_ = *std::move(chip);
  target_ = target_for(chip_).value();
  return {};
}

JitDevice::~JitDevice() = default;

void JitDevice::touch(PreparedKernel& kernel) {
  kernel.last_use.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

KernelPointer JitDevice::find(const KernelKey& layer) {
  const std::shared_lock lock(mutex_);
  const auto slot = slots_.find(&layer);
  if (slot == slots_.end() || !slot->second->kernel) {
    return nullptr;
  }
  touch(*slot->second->kernel);
  return slot->second->kernel;
}

Outcome<KernelPointer> JitDevice::prepare(const KernelKey& layer, std::stop_token stop) {
  if (KernelPointer ready = find(layer)) {
    count(counters().reused);
    if (auto here = ready->ready_here(); !here) {
      return std::unexpected(std::move(here.error()));
    }
    return ready;
  }
  Slot* slot = nullptr;
  {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = slots_.find(&layer);
      if (found == slots_.end()) {
        auto own = std::make_unique<Slot>(Slot{layer, nullptr});
        slot = own.get();
        slots_.emplace(&slot->key, std::move(own));
        break;
      }
      if (found->second->failure) {
        return std::unexpected(*found->second->failure);
      }
      if (found->second->kernel) {
        const KernelPointer ready = found->second->kernel;
        lock.unlock();
        count(counters().reused);
        touch(*ready);
        if (auto here = ready->ready_here(); !here) {
          return std::unexpected(std::move(here.error()));
        }
        return ready;
      }
      // Another thread makes it. When that is over, whatever came of it, look again.
      if (!made_.wait(lock, stop, [&] {
            const auto now = slots_.find(&layer);
            return now == slots_.end() || now->second->kernel || now->second->failure;
          })) {
        return std::unexpected(cancelled());
      }
    }
  }
  Outcome<KernelPointer> made = fail_with(Status::kInternal, "the kernel was not made");
  try {
    made = make(layer, std::move(stop));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    slots_.erase(&layer);
    made_.notify_all();
    throw;
  }
  std::vector<KernelPointer> surplus;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    if (made) {
      touch(**made);
      slot->kernel = *made;
      surplus = take_surplus();
    } else if (made.error().lasting) {
      slot->failure = std::make_shared<const Failure>(made.error());
    } else {
      slots_.erase(&layer);
    }
  }
  made_.notify_all();
  return made;
}

// Takes out the least recently used kernels beyond the bound that nobody else holds. The lock is held.
std::vector<KernelPointer> JitDevice::take_surplus() {
  std::vector<std::pair<std::uint64_t, const KernelKey*>> idle;
  std::size_t ready = 0;
  for (const auto& [key, slot] : slots_) {
    ready += slot->kernel ? 1 : 0;
    if (slot->kernel && slot->kernel.use_count() == 1 && !slot->kernel->pinned) {
      idle.emplace_back(slot->kernel->last_use.load(), key);
    }
  }
  std::vector<KernelPointer> surplus;
  if (ready <= options_.most_kernels) {
    return surplus;
  }
  std::ranges::sort(idle);
  const std::size_t over = std::min(ready - options_.most_kernels, idle.size());
  for (std::size_t i = 0; i < over; ++i) {
    const auto slot = slots_.find(idle[i].second);
    surplus.push_back(std::move(slot->second->kernel));
    slots_.erase(slot);
    count(counters().evicted);
  }
  return surplus;
}

std::size_t JitDevice::kernel_count() const {
  const std::shared_lock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(slots_, [](const auto& slot) { return slot.second->kernel != nullptr; }));
}

Outcome<KernelPointer> JitDevice::make(const KernelKey& layer, std::stop_token stop) {
  if (stop.stop_requested()) {
    return std::unexpected(cancelled());
  }
  auto made = gpu_ ? make_on_gpu(layer, std::move(stop)) : make_on_host(layer, std::move(stop));
  if (made) {
    count(counters().prepared);
  } else if (made.error().status != Status::kCancelled) {
    made.error().message = fmt::format("{} [layer: {}]", made.error().message, layer.text());
  }
  return made;
}

Outcome<KernelPointer> JitDevice::make_on_gpu(const KernelKey& layer, std::stop_token stop) {
  auto made = cubins_->make_for_chip(layer.layer(), layer.direction(), chip_, stop);
  if (!made) {
    return std::unexpected(std::move(made.error()));
  }
  dump(made->source);
  if (stop.stop_requested()) {
    return std::unexpected(cancelled());
  }
  auto form = CallForm::make(made->problem.layer, made->source.recipe);
  if (!form) {
    return fail_with(Status::kInternal, form.error());
  }
  const std::string symbol = made->source.symbol;
  KernelFacts facts{.problem = std::move(made->problem),
                    .plan = std::move(made->plan),
                    .source = std::move(made->source),
                    .layer_text = layer.text(),
                    .plan_text = {},
                    .key = std::move(made->key),
                    .architecture = std::move(made->architecture),
                    .form = *std::move(form)};
  facts.plan_text = plan_text(facts.plan);
  const Clock::time_point start = Clock::now();
  auto kernel = gpu_->load(std::move(facts), std::move(made->binary), made->compiled_by);
  if (kernel) {
    log(LogLevel::kInfo, fmt::format("prepared {}: generated in {:.1f} ms, {} in {:.1f} ms, loaded in {:.1f} ms",
                                     symbol, made->generate_ms, made->compiled ? "compiled" : "found in the store",
                                     made->compile_ms, milliseconds_since(start)));
  }
  return kernel;
}

Outcome<KernelPointer> JitDevice::make_on_host(const KernelKey& layer, std::stop_token stop) {
  const Problem problem{layer.layer(), layer.direction(), target_};
  const std::shared_ptr<Store> store = store_of(options_.store_folder);
  const auto plans = choose_plans(problem, stored_record(*store, problem, kHostChip));
  if (!plans) {
    return std::unexpected(plans.error());
  }
  auto made = DeviceMaker(*host_, store).make_first(problem, *plans, stop);
  if (!made) {
    return std::unexpected(std::move(made.error()));
  }
  dump(made->source);
  auto form = CallForm::make(made->problem.layer, made->source.recipe);
  if (!form) {
    return fail_with(Status::kInternal, form.error());
  }
  log(LogLevel::kInfo, fmt::format("prepared {} for the host device in {:.1f} ms", made->source.symbol,
                                   made->generate_ms + made->compile_ms));
  KernelFacts facts{.problem = std::move(made->problem),
                    .plan = std::move(made->plan),
                    .source = std::move(made->source),
                    .layer_text = layer.text(),
                    .plan_text = {},
                    .key = {},
                    .architecture = "host",
                    .form = *std::move(form)};
  facts.plan_text = plan_text(facts.plan);
  return load_on_host(host_, std::move(facts), made->binary);
}

std::vector<Outcome<KernelPointer>> JitDevice::prepare_all(std::span<const KernelKey* const> layers,
                                                           const PrepareAllOptions& options) {
  std::vector<Outcome<KernelPointer>> results(layers.size(), std::unexpected(cancelled()));
  std::atomic<std::size_t> next = 0;
  std::mutex telling;
  std::size_t done = 0;
  // Layers share the caller's context, so that kernels are loaded where the caller is.
  const cuda::ContextHandle context = gpu_ ? gpu_->context_here() : nullptr;
  const auto work = [&] {
    std::optional<ContextScope> scope;
    if (gpu_) {
      scope.emplace(*gpu_, context);
    }
    for (std::size_t i = next.fetch_add(1); i < layers.size(); i = next.fetch_add(1)) {
      if (!options.stop.stop_requested()) {
        try {
          results[i] = prepare(*layers[i], options.stop);
        } catch (const std::bad_alloc&) {
          results[i] = fail_with(Status::kOutOfMemory, "out of memory");  // short enough to need none
        } catch (...) {
          results[i] = fail_with(Status::kInternal, "an exception");
        }
      }
      const std::lock_guard lock(telling);
      ++done;
      if (options.progress) {
        options.progress(i, done, results[i] ? nullptr : &results[i].error());
      }
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = options.threads > 0 ? static_cast<std::size_t>(options.threads) : cores;
  const std::size_t threads = std::min({wanted, 4 * cores, layers.size()});
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < threads; ++i) {
        helpers.emplace_back(work);
      }
    } catch (const std::exception&) {  // fewer threads do it too
    }
    work();
  }
  return results;
}

Outcome<void> JitDevice::run(const KernelKey& layer, const Arrays& arrays, const InputSizes& sizes, void* stream) {
  KernelPointer kernel = find(layer);
  if (!kernel) {
    if (gpu_) {
      const ContextScope scope(*gpu_, gpu_->context_here());
      if (gpu_->capturing(static_cast<cuda::StreamHandle>(stream))) {
        return fail_with(Status::kNotPrepared,
                         fmt::format("the stream is being captured, and this layer has no kernel yet: call "
                                     "convtgen_prepare() before the capture begins [layer: {}]",
                                     layer.text()));
      }
    }
    auto made = prepare(layer);
    if (!made) {
      return std::unexpected(std::move(made.error()));
    }
    kernel = *std::move(made);
  }
  if (!kernel->pinned.load(std::memory_order_relaxed) && kernel->capturing(stream)) {
    kernel->pinned = true;
  }
  return kernel->launch(arrays, sizes, stream);
}

}  // namespace convtgen::jit
