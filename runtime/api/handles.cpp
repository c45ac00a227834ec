#include "runtime/api/handles.h"

#include <array>
#include <atomic>
#include <mutex>
#include <new>

namespace convtgen::api::table {
namespace {

// A handle's bits, from the lowest: kind, place, generation. An address of an object has kind 0.
constexpr unsigned kKindBits = 2;
constexpr unsigned kPlaceBits = 24;
constexpr unsigned kGenerationBits = 64 - kKindBits - kPlaceBits;
static_assert(sizeof(void*) == sizeof(std::uint64_t));

constexpr std::uint64_t kPlaces = std::uint64_t{1} << kPlaceBits;
constexpr std::uint64_t kPerChunk = 1024;
constexpr std::uint64_t kLastGeneration = (std::uint64_t{1} << kGenerationBits) - 1;

struct Slot {
  std::atomic<std::uint64_t> handle = 0;  // 0: free
  void* object = nullptr;
  std::uint64_t generation = 0;
  Slot* next_free = nullptr;
  std::uint64_t place = 0;
};

struct Table {
  std::array<std::atomic<Slot*>, kPlaces / kPerChunk> chunks = {};  // never freed: find() reads them without a lock
  std::mutex mutex;                                                 // of what follows, and of changes
  Slot* free = nullptr;
  std::uint64_t used = 0;  // places that were given out once
};

// Threads may use handles until the process ends, and it has nothing to destroy.
constinit Table all;

Slot* slot_of(std::uint64_t handle, unsigned kind) {
  if ((handle & ((1U << kKindBits) - 1)) != kind) {
    return nullptr;
  }
  const std::uint64_t place = handle >> kKindBits & (kPlaces - 1);
  Slot* chunk = all.chunks[place / kPerChunk].load(std::memory_order_acquire);
  if (chunk == nullptr) {
    return nullptr;
  }
  Slot& slot = chunk[place % kPerChunk];
  return slot.handle.load(std::memory_order_acquire) == handle ? &slot : nullptr;
}

// A place that has no object. The lock is held.
Slot& free_slot() {
  if (Slot* slot = all.free) {
    all.free = slot->next_free;
    return *slot;
  }
  if (all.used == kPlaces) {
    throw std::bad_alloc();
  }
  auto& chunk = all.chunks[all.used / kPerChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    chunk.store(new Slot[kPerChunk], std::memory_order_release);
  }
  Slot& slot = chunk.load(std::memory_order_relaxed)[all.used % kPerChunk];
  slot.place = all.used++;
  return slot;
}

}  // namespace

void* insert(void* object, unsigned kind) {
  const std::lock_guard lock(all.mutex);
  Slot& slot = free_slot();
  slot.object = object;
  ++slot.generation;
  const std::uint64_t handle = slot.generation << (kKindBits + kPlaceBits) | slot.place << kKindBits | kind;
  slot.handle.store(handle, std::memory_order_release);
  return reinterpret_cast<void*>(handle);
}

void* find(const void* handle, unsigned kind) noexcept {
  const Slot* slot = slot_of(reinterpret_cast<std::uint64_t>(handle), kind);
  return slot != nullptr ? slot->object : nullptr;
}

void* take(const void* handle, unsigned kind) noexcept {
  const std::lock_guard lock(all.mutex);
  Slot* slot = slot_of(reinterpret_cast<std::uint64_t>(handle), kind);
  if (slot == nullptr) {
    return nullptr;
  }
  slot->handle.store(0, std::memory_order_release);
  if (slot->generation < kLastGeneration) {  // else no number is left for the place
    slot->next_free = all.free;
    all.free = slot;
  }
  return slot->object;
}

}  // namespace convtgen::api::table
