// cp.async: copies of a thread from global to shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/mbarriers.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

const char* name_of(unsigned size) {
  return size == 4 ? "async_copy_4" : size == 8 ? "async_copy_8" : "async_copy_16";
}

std::optional<Fault> copy(Worker& worker, void* to, const void* from, unsigned size, unsigned bytes,
                          std::uintptr_t pc) {
  Machine& machine = worker.machine();
  const std::uint32_t thread = worker.thread();
  if (bytes > size) {
    return worker.misuse(name_of(size), pc, fmt::format("{} bytes of {}", bytes, size));
  }
  if (address_of(to) % size != 0 || address_of(from) % size != 0) {
    return worker.misuse(
        name_of(size), pc,
        fmt::format("misaligned: both addresses are multiples of {}, but the {} is {} bytes beyond one", size,
                    address_of(to) % size != 0 ? "destination" : "source",
                    address_of(address_of(to) % size != 0 ? to : from) % size));
  }
  const auto offset = worker.shared_offset(address_of(to), size);
  if (!offset) {
    return worker.misuse(name_of(size), pc, "the destination is not in the block's shared memory");
  }
  if (auto fault = bytes == 0 ? std::nullopt : worker.check_global(address_of(from), bytes, false, pc)) {
    return fault;
  }
  if (auto fault = worker.check_clocked(*offset, size, true, thread, pc)) {
    return fault;
  }
  // Nobody, not even the thread, knows of what the agent writes before it has waited.
  machine.shadow.note_write(*offset, size, machine.copies_agent(thread), machine.ordering.now(), worker.relative(pc));
  return machine.operations.issue(
      machine.copies_stream(thread),
      [to, from, size, bytes] {
        std::array<std::byte, 16> moved = {};
        std::memcpy(moved.data(), from, bytes);
        std::memcpy(to, moved.data(), size);
        return std::optional<Fault>();
      },
      worker.random());
}

void async_copy(void* to, const void* from, unsigned size, unsigned bytes, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if(copy(worker, to, from, size, bytes, address_of(pc)));
}

void async_copy_commit() {
  Worker& worker = Worker::current();
  Machine& machine = worker.machine();
  machine.operations.close_group(machine.copies_stream(worker.thread()), machine.ordering.advance());
}

void async_copy_wait(unsigned pending, void* /*pc*/) {
  Worker& worker = Worker::current();
  Machine& machine = worker.machine();
  const std::uint32_t thread = worker.thread();
  const std::uint32_t stream = machine.copies_stream(thread);
  if (pending == ~0U) {
    async_copy_commit();
    pending = 0;
  }
  if (const Stream::Group* group = machine.operations.newest_covered(stream, pending)) {
    worker.raise_if(machine.operations.finish(stream, group->end));
    machine.ordering.learn(thread, machine.copies_agent(thread), group->time);
  }
  worker.pause();
}

// The arrival takes effect after the copies issued so far, and releases their clocks.
std::optional<Fault> arrive_after(Worker& worker, void* barrier, std::uintptr_t pc) {
  Machine& machine = worker.machine();
  constexpr const char* kWhat = "async_copy_arrive";
  const std::uint32_t thread = worker.thread();
  std::optional<Fault> fault;
  const auto place = find_mbarrier(worker, kWhat, barrier, worker.rank(), false, pc, fault);
  if (!place) {
    return fault;
  }
  Clock clock = machine.ordering.release(thread);
  const std::uint32_t agent = machine.copies_agent(thread);
  clock.resize(std::max<std::size_t>(clock.size(), agent + 1), 0);
  clock[agent] = machine.ordering.advance();
  return machine.operations.issue(
      machine.copies_stream(thread),
      [&worker, place = *place, clock = std::move(clock), thread, pc] {
        return arrive(worker, kWhat, place, clock, thread, pc);
      },
      worker.random());
}

void async_copy_arrive(void* barrier, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if(arrive_after(worker, barrier, address_of(pc)));
  worker.pause();
}

}  // namespace

void add_copies(ConvtgenHostTable& table) {
  table.async_copy = async_copy;
  table.async_copy_commit = async_copy_commit;
  table.async_copy_wait = async_copy_wait;
  table.async_copy_arrive = async_copy_arrive;
}

}  // namespace convtgen::host
