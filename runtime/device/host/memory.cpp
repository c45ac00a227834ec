#include "runtime/device/host/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace convtgen::host {
namespace {

constexpr std::size_t kBufferGap = std::size_t{4} << 30;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

GuardedMemory::GuardedMemory(GuardedMemory&& from) noexcept {
  *this = std::move(from);
}

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& from) noexcept {
  std::swap(base_, from.base_);
  std::swap(reserved_, from.reserved_);
  std::swap(data_, from.data_);
  std::swap(mapped_, from.mapped_);
  std::swap(gap_, from.gap_);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (base_ != nullptr) {
    munmap(base_, reserved_);
  }
}

Result<GuardedMemory> GuardedMemory::map(std::size_t bytes, std::size_t gap) {
  const std::size_t page = page_size();
  const std::size_t mapped = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  if (mapped < bytes) {
    return fail(fmt::format("{} bytes are more than an address space holds", bytes));
  }
  // Where address space is short, the gap gives way.
  for (gap = std::max(gap / page * page, page);; gap = std::max(gap / 16 / page * page, page)) {
    const std::size_t reserved = mapped + 2 * gap;
    void* base = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base != MAP_FAILED) {
      GuardedMemory memory;
      memory.base_ = static_cast<std::byte*>(base);
      memory.reserved_ = reserved;
      memory.data_ = memory.base_ + gap;
      memory.mapped_ = mapped;
      memory.gap_ = gap;
      if (mprotect(memory.data_, mapped, PROT_READ | PROT_WRITE) == 0) {
        return memory;
      }
    }
    if (gap == page) {
      return fail(fmt::format("the host has no room for {} bytes: {}", bytes, std::strerror(errno)));
    }
  }
}

void GuardedMemory::clear() {
  if (data_ != nullptr && madvise(data_, mapped_, MADV_DONTNEED) != 0) {
    std::memset(data_, 0, mapped_);
  }
}

Result<std::unique_ptr<BufferMemory>> BufferMemory::make(std::size_t bytes) {
  auto memory = std::make_unique<BufferMemory>();
  auto data = GuardedMemory::map(bytes, kBufferGap);
  if (!data) {
    return std::unexpected(data.error());
  }
  memory->data_ = std::move(*data);
  memory->bytes_ = bytes;
  if (auto marked = memory->mark_never_written(); !marked) {
    return std::unexpected(marked.error());
  }
  return memory;
}

Region BufferMemory::region() const {
  const std::lock_guard lock(mutex_);
  return {.begin = reinterpret_cast<std::uintptr_t>(data_.data()),
          .bytes = bytes_,
          .written = reinterpret_cast<std::uint8_t*>(written_.data()),
          .gap = data_.gap()};
}

void BufferMemory::mark_written(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (written_.data() == nullptr) {
    return;
  }
  if (offset == 0 && bytes == bytes_) {
    written_ = GuardedMemory();
  } else {
    std::memset(written_.data() + offset, 1, bytes);
  }
}

Result<void> BufferMemory::mark_never_written() {
  const std::lock_guard lock(mutex_);
  if (written_.data() != nullptr) {
    written_.clear();
    return {};
  }
  auto written = GuardedMemory::map(bytes_, 0);
  if (!written) {
    return std::unexpected(written.error());
  }
  written_ = std::move(*written);
  return {};
}

void BufferTable::insert(const BufferMemory* memory) {
  const std::lock_guard lock(mutex_);
  live_.push_back(memory);
}

void BufferTable::erase(const BufferMemory* memory) {
  const std::lock_guard lock(mutex_);
  std::erase(live_, memory);
}

std::vector<Region> BufferTable::snapshot() const {
  std::vector<Region> regions;
  {
    const std::lock_guard lock(mutex_);
    regions.reserve(live_.size());
    for (const BufferMemory* memory : live_) {
      regions.push_back(memory->region());
    }
  }
  std::ranges::sort(regions, {}, &Region::begin);
  return regions;
}

}  // namespace convtgen::host
