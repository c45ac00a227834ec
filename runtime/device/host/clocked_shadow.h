// The accesses of each byte of a cluster's shared memory: its last writer, and all readers since. For kernels whose
// threads synchronise by more than block barriers; SharedShadow is the fast form for plain kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/device/host/clock.h"

namespace convtgen::host {

/// An earlier access that races with the current one.
struct Conflict {
  enum class Kind : std::uint8_t { kNeverWritten, kWrite, kRead, kUnfenced };
  Kind kind = Kind::kWrite;
  std::uint32_t byte = 0;  // offset of the first byte in question
  std::uint32_t id = 0;    // who made the earlier access
  std::uint32_t pc = 0;
  bool in_flight = false;  // a copy that has not yet arrived
};

class ClockedShadow {
 public:
  /// A new cluster with this many bytes: none has been written.
  void begin(std::uint32_t bytes, const Ordering& ordering);

  /// The first byte of [offset, offset + bytes) that `thread` may not read or write now, by its clock.
  [[nodiscard]] std::optional<Conflict> find_conflict(std::uint32_t offset, std::uint32_t bytes, bool write,
                                                      std::uint32_t thread, const Ordering& ordering) const;
  /// The first byte whose plain write no proxy fence has made visible to an asynchronous operation of `thread`.
  [[nodiscard]] std::optional<Conflict> find_unfenced(std::uint32_t offset, std::uint32_t bytes, std::uint32_t thread,
                                                      const Ordering& ordering) const;

  void note_read(std::uint32_t offset, std::uint32_t bytes, std::uint32_t id, Time time, std::uint32_t pc);
  void note_write(std::uint32_t offset, std::uint32_t bytes, std::uint32_t id, Time time, std::uint32_t pc);
  /// A write in flight: nobody can know of it before note_write() records when it took effect.
  void note_write_in_flight(std::uint32_t offset, std::uint32_t bytes, std::uint32_t id, std::uint32_t pc) {
    note_write(offset, bytes, id, kInFlight, pc);
  }

 private:
  static constexpr Time kInFlight = ~Time{0};

  // Readers of a byte are a list, and lists share their ends: bytes that were read alike have the same list. So there
  // is one list of each first reader and rest.
  struct Reader {
    std::uint32_t next = 0;  // a list's number, 0 for none
    std::uint32_t id = 0;
    Time time = 0;
    std::uint32_t pc = 0;
  };
  struct Cell {
    Time time = 0;
    std::uint32_t id = 0;
    bool operator==(const Cell&) const = default;
  };

  std::uint32_t with_reader(std::uint32_t list, std::uint32_t id, Time time, std::uint32_t pc);
  /// Where the list is found among `found_`, or is to be entered.
  [[nodiscard]] std::size_t place_of(const Reader& list) const;
  /// No lists.
  void forget_lists();
  void forget_unused_lists();

  Time first_ = 0;
  std::vector<Cell> writer_;              // a byte
  std::vector<std::uint32_t> writer_pc_;  // 4 bytes
  std::vector<std::uint32_t> readers_;    // a byte: the number of a list
  std::vector<Reader> lists_{Reader{}};   // by number
  std::size_t most_lists_ = 0;            // before unused ones are forgotten
  std::vector<std::uint32_t> found_;      // numbers of lists by their hashes, 0 for none: at most half are taken
};

}  // namespace convtgen::host
