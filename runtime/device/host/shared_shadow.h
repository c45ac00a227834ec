// The accesses of each byte of a block's shared memory: its last writer, its readers since, and their times.
//
// Time is a counter of the block's synchronisations. A byte's cell holds time << 12 | flags | thread; since time grows
// from block to block, a cell older than the block means "never written", and nothing has to be cleared between blocks.
#pragma once

#include <cstdint>
#include <vector>

namespace convtgen::host {

class SharedShadow {
 public:
  static constexpr std::uint32_t kThreadMask = 0x3ff;
  static constexpr std::uint32_t kSameWarp = 0x400;    // others of the thread's warp have read too
  static constexpr std::uint32_t kOtherWarps = 0x800;  // threads of other warps have read too
  static constexpr int kTimeShift = 12;
  static constexpr std::uint32_t kLastTime = (1u << (32 - kTimeShift)) - 1;

  void reserve(std::uint32_t bytes) {
    if (writer_.size() < bytes) {
      const std::size_t size = (bytes + 15) / 16 * 16;
      writer_.assign(size, 0);
      reader_.assign(size, 0);
      writer_pc_.assign(size / 4, 0);
      reader_pc_.assign(size / 4, 0);
    }
  }

  /// A new block: nothing has been written.
  void begin_block() {
    advance(1);
    block_ = barrier_ = time_ << kTimeShift;
  }

  /// All threads of the block have passed a barrier: earlier accesses are ordered before later ones.
  void synchronise_block() {
    advance(1);
    barrier_ = time_ << kTimeShift;
  }

  /// Some threads of a warp have passed a barrier. Returns the time for the order of their accesses.
  std::uint32_t synchronise_warp() {
    advance(1);
    return time_ << kTimeShift;
  }

  [[nodiscard]] bool written(std::uint32_t offset) const { return writer_[offset] >= block_; }
  [[nodiscard]] std::uint32_t writer(std::uint32_t offset) const { return writer_[offset]; }
  [[nodiscard]] std::uint32_t reader(std::uint32_t offset) const { return reader_[offset]; }
  [[nodiscard]] std::uint32_t writer_pc(std::uint32_t offset) const { return writer_pc_[offset / 4]; }
  [[nodiscard]] std::uint32_t reader_pc(std::uint32_t offset) const { return reader_pc_[offset / 4]; }
  [[nodiscard]] std::uint32_t barrier() const { return barrier_; }

  /// Whether a read of `kBytes` from an offset divisible by them is surely in order; if not, look closer.
  template <std::uint32_t kBytes>
  [[nodiscard]] bool plain_read(std::uint32_t offset, std::uint32_t thread) const {
    if constexpr (kBytes < 4) {
      bool bad = false;
      for (std::uint32_t i = 0; i < kBytes; ++i) {
        const std::uint32_t cell = writer_[offset + i];
        bad |= cell < block_ || (cell >= barrier_ && (cell & kThreadMask) != thread);
      }
      return !bad;
    } else {
      Cells bad = {};
      for (std::uint32_t i = 0; i < kBytes; i += 4) {
        const Cells cells = load(&writer_[offset + i]);
        bad |= (cells < block_) | ((cells >= barrier_) & ((cells & kThreadMask) != thread));
      }
      return none(bad);
    }
  }

  template <std::uint32_t kBytes>
  [[nodiscard]] bool plain_write(std::uint32_t offset, std::uint32_t thread) const {
    constexpr std::uint32_t kReaderMask = kThreadMask | kSameWarp | kOtherWarps;
    if constexpr (kBytes < 4) {
      bool bad = false;
      for (std::uint32_t i = 0; i < kBytes; ++i) {
        const std::uint32_t cell = writer_[offset + i];
        const std::uint32_t reader = reader_[offset + i];
        bad |= (cell >= barrier_ && (cell & kThreadMask) != thread) ||
               (reader >= barrier_ && (reader & kReaderMask) != thread);
      }
      return !bad;
    } else {
      Cells bad = {};
      for (std::uint32_t i = 0; i < kBytes; i += 4) {
        const Cells cells = load(&writer_[offset + i]);
        const Cells readers = load(&reader_[offset + i]);
        bad |= ((cells >= barrier_) & ((cells & kThreadMask) != thread)) |
               ((readers >= barrier_) & ((readers & kReaderMask) != thread));
      }
      return none(bad);
    }
  }

  template <std::uint32_t kBytes>
  void note_read(std::uint32_t offset, std::uint32_t thread, std::uint32_t pc) {
    const std::uint32_t stamp = time_ << kTimeShift | thread;
    if constexpr (kBytes < 4) {
      for (std::uint32_t i = 0; i < kBytes; ++i) {
        reader_[offset + i] = merged(reader_[offset + i], stamp, thread);
      }
      reader_pc_[offset / 4] = pc;
    } else {
      for (std::uint32_t i = 0; i < kBytes; i += 4) {
        std::uint32_t* cells = &reader_[offset + i];
        const Cells old = load(cells);
        const std::uint32_t first = cells[0];
        if (none(old != first)) [[likely]] {
          if (first >= time_ << kTimeShift && (first & kOtherWarps) != 0) {
            continue;  // what all warps read needs no more readers
          }
          const Cells fresh = Cells{} + merged(first, stamp, thread);
          __builtin_memcpy(cells, &fresh, sizeof fresh);
        } else {
          for (int k = 0; k < 4; ++k) {
            cells[k] = merged(cells[k], stamp, thread);
          }
        }
        reader_pc_[(offset + i) / 4] = pc;
      }
    }
  }

  template <std::uint32_t kBytes>
  void note_write(std::uint32_t offset, std::uint32_t thread, std::uint32_t pc) {
    const std::uint32_t stamp = time_ << kTimeShift | thread;
    if constexpr (kBytes < 4) {
      for (std::uint32_t i = 0; i < kBytes; ++i) {
        writer_[offset + i] = stamp;
      }
      writer_pc_[offset / 4] = pc;
    } else {
      for (std::uint32_t i = 0; i < kBytes; i += 4) {
        const Cells fresh = Cells{} + stamp;
        __builtin_memcpy(&writer_[offset + i], &fresh, sizeof fresh);
        writer_pc_[(offset + i) / 4] = pc;
      }
    }
  }

 private:
  typedef std::uint32_t Cells __attribute__((vector_size(16)));
  typedef std::uint64_t Halves __attribute__((vector_size(16)));

  static Cells load(const std::uint32_t* from) {
    Cells cells;
    __builtin_memcpy(&cells, from, sizeof cells);
    return cells;
  }

  template <typename Mask>
  static bool none(Mask mask) {
    Halves halves;
    __builtin_memcpy(&halves, &mask, sizeof halves);
    return (halves[0] | halves[1]) == 0;
  }

  // The cell after one more read: the first reader since the barrier stays, and others become flags.
  [[nodiscard]] std::uint32_t merged(std::uint32_t old, std::uint32_t stamp, std::uint32_t thread) const {
    if (old < barrier_) {
      return stamp;
    }
    const std::uint32_t first = old & kThreadMask;
    const std::uint32_t flags = old & (kSameWarp | kOtherWarps);
    if (first == thread) {
      return stamp | flags;
    }
    const std::uint32_t more = first / 32 == thread / 32 ? kSameWarp : kOtherWarps;
    return (stamp & ~kThreadMask) | first | flags | more;
  }

  void advance(std::uint32_t steps) {
    if (time_ + steps > kLastTime) {
      // Times start again: cells of this block keep who and what, at the first time that the block can have. Those
      // that were ordered by a barrier stay so, as that barrier's time is later.
      const std::uint32_t block = block_;
      const std::uint32_t barrier = barrier_;
      for (auto* cells : {&writer_, &reader_}) {
        for (std::uint32_t& cell : *cells) {
          cell = cell < block ? 0 : ((cell < barrier ? 2u : 3u) << kTimeShift) | (cell & ((1u << kTimeShift) - 1));
        }
      }
      block_ = 2u << kTimeShift;
      barrier_ = 3u << kTimeShift;
      time_ = 3;
    }
    time_ += steps;
  }

  std::vector<std::uint32_t> writer_;  // a cell a byte
  std::vector<std::uint32_t> reader_;
  std::vector<std::uint32_t> writer_pc_;  // a word: return addresses from the library's base
  std::vector<std::uint32_t> reader_pc_;
  std::uint32_t time_ = 1;
  std::uint32_t block_ = 1u << kTimeShift;
  std::uint32_t barrier_ = 1u << kTimeShift;
};

}  // namespace convtgen::host
