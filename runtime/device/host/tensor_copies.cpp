// TMA: copies of boxes and of runs of bytes between global and shared memory, by the asynchronous proxy.
//
// A copy is checked as it is issued and moves its bytes, all at once, when it takes effect. A store reads at one
// moment and writes at another.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <expected>
#include <memory>
#include <span>
#include <utility>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/mbarriers.h"
#include "runtime/device/host/tensor_box.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

constexpr std::uint32_t kBulkUnit = 16;  // bytes; of addresses and sizes
constexpr std::uint32_t kMostPending = 7;
constexpr unsigned kMulticast = 0x10000;  // in `blocks` of a load; the table's comment says what else is
constexpr std::array<const char*, kMaxTensorRank> kLoads = {"tensor_load_1d", "tensor_load_2d", "tensor_load_3d",
                                                            "tensor_load_4d", "tensor_load_5d"};
constexpr std::array<const char*, kMaxTensorRank> kMulticastLoads = {
    "tensor_load_multicast_1d", "tensor_load_multicast_2d", "tensor_load_multicast_3d", "tensor_load_multicast_4d",
    "tensor_load_multicast_5d"};
constexpr std::array<const char*, kMaxTensorRank> kStores = {"tensor_store_1d", "tensor_store_2d", "tensor_store_3d",
                                                             "tensor_store_4d", "tensor_store_5d"};

enum class Direction : std::uint8_t { kLoad, kStore };

struct Copy {
  const char* what = "";
  std::uintptr_t pc = 0;
  std::uint32_t thread = 0;
  const TensorMap* map = nullptr;  // null: a bulk copy
  std::vector<BoxPiece> pieces;    // a bulk copy is one
};

// A block that a load brings its bytes to.
struct Target {
  std::uint32_t rank = 0;
  std::uint32_t barrier = 0;  // place of its mbarrier
  std::uint32_t agent = 0;    // of that
};

// What follows returns its fault, so that nothing is left on the stack that raise() abandons.
template <typename T>
using Checked = std::expected<T, Fault>;

// Where a piece lies in the cluster's shared memory, for block `rank`.
std::uint32_t offset_of(const Worker& worker, const BoxPiece& piece, std::uint32_t rank) {
  return rank * worker.launch().shared_stride + piece.shared - kSharedStart;
}

// The map of the launch that the kernel's object stands for.
Checked<const TensorMap*> find_map(Worker& worker, const char* what, const void* object, std::uintptr_t pc) {
  std::uint64_t word = 0;
  std::memcpy(&word, object, sizeof(word));
  const auto maps = worker.launch().tensor_maps;
  const auto found =
      std::ranges::find(maps, word, [](const TensorMapArgument& argument) { return address_of(&argument.map); });
  if (found == maps.end()) {
    return std::unexpected(worker.misuse(what, pc, "the map is no tensor map of this launch"));
  }
  return &found->map;
}

// The address of the copy's shared memory in the block's window.
Checked<std::uint32_t> window_address(Worker& worker, const char* what, const void* shared, Direction direction,
                                      std::uintptr_t pc) {
  const auto offset = worker.shared_offset(address_of(shared), 1);
  if (!offset) {
    return std::unexpected(worker.misuse(what, pc,
                                         fmt::format("the {} is not in the block's shared memory",
                                                     direction == Direction::kLoad ? "destination" : "source")));
  }
  return *offset % worker.launch().shared_stride + kSharedStart;
}

Checked<Copy> box_copy(Worker& worker, const char* what, const void* object, const void* shared, const int* coordinates,
                       unsigned rank, Direction direction, std::uintptr_t pc) {
  const auto map = find_map(worker, what, object, pc);
  if (!map) {
    return std::unexpected(map.error());
  }
  if ((*map)->rank != static_cast<int>(rank)) {
    return std::unexpected(worker.misuse(what, pc, fmt::format("the map has {} dimensions", (*map)->rank)));
  }
  const auto window = window_address(worker, what, shared, direction, pc);
  if (!window) {
    return std::unexpected(window.error());
  }
  BoxCoordinates box = {};
  std::copy_n(coordinates, rank, box.begin());
  auto pieces = box_pieces(**map, box, *window, direction == Direction::kStore);
  if (!pieces) {
    return std::unexpected(worker.misuse(what, pc, pieces.error().message));
  }
  return Copy{what, pc, worker.thread(), *map, std::move(*pieces)};
}

Checked<Copy> bulk_copy(Worker& worker, const char* what, const void* global, const void* shared, std::uint32_t bytes,
                        Direction direction, std::uintptr_t pc) {
  const auto window = window_address(worker, what, shared, direction, pc);
  if (!window) {
    return std::unexpected(window.error());
  }
  if (bytes % kBulkUnit != 0 || *window % kBulkUnit != 0 || address_of(global) % kBulkUnit != 0) {
    return std::unexpected(
        worker.misuse(what, pc,
                      fmt::format("{} bytes at address {:#x} of shared and {:#x} of global memory; all are multiples "
                                  "of {}",
                                  bytes, *window, address_of(global), kBulkUnit)));
  }
  Copy copy{what, pc, worker.thread(), nullptr, {}};
  if (bytes != 0) {
    copy.pieces.push_back({address_of(global), *window, bytes, true});
  }
  return copy;
}

// Whether the copy ends within the block's shared memory and leaves the mbarriers of block `rank` alone.
std::optional<Fault> check_place(Worker& worker, const Copy& copy, std::uint32_t rank) {
  std::uint32_t begin = ~0U;
  std::uint32_t end = 0;
  for (const BoxPiece& piece : copy.pieces) {
    const std::uint32_t offset = offset_of(worker, piece, rank);
    begin = std::min(begin, offset);
    end = std::max(end, offset + piece.bytes);
  }
  const std::uint32_t first = rank * worker.launch().shared_stride;
  if (end > first + worker.launch().shared_bytes) {
    return worker.misuse(copy.what, copy.pc,
                         fmt::format("bytes {} to {} of shared memory; the block has {}", begin - first, end - first,
                                     worker.launch().shared_bytes));
  }
  for (const auto& [place, barrier] : worker.machine().mbarriers) {
    const auto meets = [&, place = place](const BoxPiece& piece) {
      const std::uint32_t offset = offset_of(worker, piece, rank);
      return offset < place + 8 && place < offset + piece.bytes;
    };
    if (begin < place + 8 && place < end && std::ranges::any_of(copy.pieces, meets)) {
      return worker.misuse(copy.what, copy.pc,
                           fmt::format("touches the mbarrier at offset {} of shared memory, which lives until "
                                       "mbarrier_invalidate()",
                                       place - first));
    }
  }
  return std::nullopt;
}

std::optional<Fault> check_shared(Worker& worker, const Copy& copy, std::uint32_t rank, Direction direction) {
  if (auto fault = check_place(worker, copy, rank)) {
    return fault;
  }
  for (const BoxPiece& piece : copy.pieces) {
    const std::uint32_t offset = offset_of(worker, piece, rank);
    if (auto fault = worker.check_clocked(offset, piece.bytes, direction == Direction::kLoad, copy.thread, copy.pc)) {
      return fault;
    }
    if (auto fault = worker.check_fenced(copy.what, offset, piece.bytes, copy.thread, copy.pc)) {
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<Fault> check_global(Worker& worker, const Copy& copy, Direction direction) {
  for (auto piece = copy.pieces.begin(); piece != copy.pieces.end();) {
    if (!piece->inside) {
      ++piece;
      continue;
    }
    // Swizzled pieces are short, but follow each other in global memory.
    const std::uint64_t begin = piece->global;
    std::uint64_t end = begin;
    for (; piece != copy.pieces.end() && piece->inside && piece->global == end; ++piece) {
      end += piece->bytes;
    }
    if (auto fault = worker.check_global(begin, end - begin, direction == Direction::kStore, copy.pc)) {
      return fault;
    }
  }
  return std::nullopt;
}

// The effect of a load: global memory as it is now.
std::optional<Fault> bring(Worker& worker, const Copy& copy, std::span<const Target> targets) {
  Machine& machine = worker.machine();
  for (const Target& target : targets) {
    if (machine.blocks[target.rank].done == machine.block_threads) {
      return worker.misuse(copy.what, copy.thread, copy.pc,
                           fmt::format("the block of rank {} has ended as its bytes arrive", target.rank));
    }
    std::uint32_t bytes = 0;
    for (const BoxPiece& piece : copy.pieces) {
      const std::uint32_t offset = offset_of(worker, piece, target.rank);
      const auto* from = reinterpret_cast<const std::byte*>(piece.global);
      if (copy.map != nullptr) {
        load_piece(*copy.map, piece, worker.shared_at(offset), from);
      } else {
        std::memcpy(worker.shared_at(offset), from, piece.bytes);
      }
      machine.shadow.note_write(offset, piece.bytes, target.agent, machine.ordering.now(), worker.relative(copy.pc));
      bytes += piece.bytes;
    }
    if (auto fault = complete_bytes(worker, target.barrier, bytes, copy.thread, copy.pc)) {
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<Fault> load(Worker& worker, Checked<Copy> checked, const void* barrier, unsigned blocks) {
  if (!checked) {
    return checked.error();
  }
  Copy& copy = *checked;
  Machine& machine = worker.machine();
  if (blocks == kMulticast) {
    return worker.misuse(copy.what, copy.pc, "to no block of the cluster");
  }
  const unsigned ranks = blocks == 0 ? 1U << worker.rank() : blocks - kMulticast;
  std::vector<Target> targets;
  for (std::uint32_t rank = 0; ranks >> rank != 0; ++rank) {
    if ((ranks >> rank & 1) == 0) {
      continue;
    }
    std::optional<Fault> fault;
    const auto place = find_mbarrier(worker, copy.what, barrier, rank, true, copy.pc, fault);
    if (!place) {
      return fault;
    }
    if ((fault = check_shared(worker, copy, rank, Direction::kLoad))) {
      return fault;
    }
    targets.push_back({rank, *place, machine.mbarriers.at(*place).agent});
  }
  if (auto fault = check_global(worker, copy, Direction::kLoad)) {
    return fault;
  }
  for (const Target& target : targets) {
    for (const BoxPiece& piece : copy.pieces) {
      machine.shadow.note_write_in_flight(offset_of(worker, piece, target.rank), piece.bytes, target.agent,
                                          worker.relative(copy.pc));
    }
  }
  return machine.operations.issue_alone(
      [&worker, copy = std::move(copy), targets = std::move(targets)] { return bring(worker, copy, targets); },
      worker.random());
}

// The bytes of a store on their way.
struct Moving {
  std::uint32_t rank = 0;
  std::vector<BoxPiece> pieces;
  std::vector<std::byte> bytes;  // empty until they are read

  void read(const Worker& worker) {
    if (!bytes.empty()) {
      return;
    }
    for (const BoxPiece& piece : pieces) {
      const std::byte* from = worker.shared_at(offset_of(worker, piece, rank));
      bytes.insert(bytes.end(), from, from + piece.bytes);
    }
  }
  void write() const {
    const std::byte* from = bytes.data();
    for (const BoxPiece& piece : pieces) {
      std::memcpy(reinterpret_cast<void*>(piece.global), from, piece.bytes);
      from += piece.bytes;
    }
  }
};

std::optional<Fault> store(Worker& worker, Checked<Copy> checked) {
  if (!checked) {
    return checked.error();
  }
  Copy& copy = *checked;
  Machine& machine = worker.machine();
  const std::uint32_t rank = worker.rank();
  if (auto fault = check_shared(worker, copy, rank, Direction::kStore)) {
    return fault;
  }
  if (auto fault = check_global(worker, copy, Direction::kStore)) {
    return fault;
  }
  const std::uint32_t agent = machine.stores_agent(copy.thread);
  for (const BoxPiece& piece : copy.pieces) {
    machine.shadow.note_read(offset_of(worker, piece, rank), piece.bytes, agent, machine.ordering.now(),
                             worker.relative(copy.pc));
  }
  machine.threads[copy.thread].last_store = copy.pc;
  const auto moving = std::make_shared<Moving>(Moving{rank, std::move(copy.pieces), {}});
  const auto read = [&worker, moving] {
    moving->read(worker);
    return std::optional<Fault>();
  };
  const auto write = [&worker, moving] {
    moving->read(worker);
    moving->write();
    return std::optional<Fault>();
  };
  if (auto fault = machine.operations.issue(machine.stores_stream(copy.thread), read, worker.random())) {
    return fault;
  }
  return machine.operations.issue(machine.writes_stream(copy.thread), write, worker.random());
}

std::optional<Fault> wait_for_stores(Worker& worker, unsigned pending, bool reads_only, std::uintptr_t pc) {
  Machine& machine = worker.machine();
  if (pending > kMostPending) {
    return worker.misuse(reads_only ? "bulk_wait_read" : "bulk_wait", pc,
                         fmt::format("{} groups pending; legal are 0 to {}", static_cast<int>(pending), kMostPending));
  }
  const std::uint32_t thread = worker.thread();
  const std::uint32_t index = machine.stores_stream(thread);
  const Stream::Group* group = machine.operations.newest_covered(index, pending);
  if (group == nullptr) {
    return std::nullopt;
  }
  machine.ordering.learn(thread, machine.stores_agent(thread), group->time);
  Stream& stream = machine.operations.stream(index);
  stream.waited = std::max(stream.waited, group->end);
  auto fault = machine.operations.finish(index, group->end);
  if (!fault && !reads_only) {
    fault = machine.operations.finish(machine.writes_stream(thread), group->end);
  }
  return fault;
}

// A hint, but of a map.
std::optional<Fault> prefetch(Worker& worker, const void* object, std::uintptr_t pc) {
  const auto map = find_map(worker, "tensor_prefetch", object, pc);
  return map ? std::nullopt : std::optional(map.error());
}

// The lambdas end, and with them what they hold, before a fault is raised.

void tensor_load(void* to, const void* map, void* barrier, unsigned blocks, const int* coordinates, unsigned rank,
                 void* pc) {
  Worker& worker = Worker::current();
  const char* what = (blocks == 0 ? kLoads : kMulticastLoads)[rank - 1];
  worker.raise_if([&] {
    return load(worker, box_copy(worker, what, map, to, coordinates, rank, Direction::kLoad, address_of(pc)), barrier,
                blocks);
  }());
  worker.pause();
}

void tensor_store(const void* map, const void* from, const int* coordinates, unsigned rank, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if([&] {
    return store(worker,
                 box_copy(worker, kStores[rank - 1], map, from, coordinates, rank, Direction::kStore, address_of(pc)));
  }());
  worker.pause();
}

void tensor_prefetch(const void* map, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if(prefetch(worker, map, address_of(pc)));
}

void bulk_load(void* to, const void* from, unsigned bytes, void* barrier, unsigned blocks, void* pc) {
  Worker& worker = Worker::current();
  const char* what = blocks == 0 ? "bulk_load" : "bulk_load_multicast";
  worker.raise_if([&] {
    return load(worker, bulk_copy(worker, what, from, to, bytes, Direction::kLoad, address_of(pc)), barrier, blocks);
  }());
  worker.pause();
}

void bulk_store(void* to, const void* from, unsigned bytes, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if([&] {
    return store(worker, bulk_copy(worker, "bulk_store", to, from, bytes, Direction::kStore, address_of(pc)));
  }());
  worker.pause();
}

void bulk_commit() {
  Worker& worker = Worker::current();
  Machine& machine = worker.machine();
  machine.operations.close_group(machine.stores_stream(worker.thread()), machine.ordering.advance());
}

void bulk_wait(unsigned pending, int reads_only, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if(wait_for_stores(worker, pending, reads_only != 0, address_of(pc)));
  worker.pause();
}

}  // namespace

std::optional<Fault> leaves_stores(Worker& worker) {
  Machine& machine = worker.machine();
  const std::uint32_t thread = worker.thread();
  const Stream& stream = machine.operations.stream(machine.stores_stream(thread));
  if (stream.issued == stream.waited) {
    return std::nullopt;
  }
  return worker.misuse("the end of a thread", machine.threads[thread].last_store,
                       "a store may still read the block's shared memory; bulk_commit() and bulk_wait_read(0) come "
                       "before the end");
}

void add_tensor_copies(ConvtgenHostTable& table) {
  table.tensor_load = tensor_load;
  table.tensor_store = tensor_store;
  table.tensor_prefetch = tensor_prefetch;
  table.bulk_load = bulk_load;
  table.bulk_store = bulk_store;
  table.bulk_commit = bulk_commit;
  table.bulk_wait = bulk_wait;
}

}  // namespace convtgen::host
