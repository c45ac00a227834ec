// setmaxnreg: warps give registers to their block and take some of it.
#include <fmt/format.h>

#include <array>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/products.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

// One string for each primitive.
const char* name_of(bool increase, unsigned count) {
  using Name = std::array<char, 24>;
  static const auto names = [] {
    std::array<std::array<Name, 33>, 2> made = {};
    for (std::size_t i = 0; i < 33; ++i) {
      fmt::format_to(made[0][i].data(), "setmaxnreg_decrease_{}", 8 * i);
      fmt::format_to(made[1][i].data(), "setmaxnreg_increase_{}", 8 * i);
    }
    return made;
  }();
  return names[increase ? 1 : 0][count / 8].data();
}

// Between what the warp has and its block has; `count` may be less than the warp has.
void set(Machine& machine, std::uint32_t first, std::uint32_t count) {
  WarpState& warp = machine.warps[machine.warp_of(first)];
  machine.blocks[first / machine.block_threads].free_registers +=
      (std::int64_t{warp.registers} - std::int64_t{count}) * kWarp;
  warp.registers = count;
  warp.registers_known = true;
}

std::optional<Fault> decrease(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> operands) {
  Machine& machine = worker.machine();
  const WarpState& warp = machine.warps[machine.warp_of(first)];
  const Thread& at = worker.state(first);
  const auto count = static_cast<std::uint32_t>(operands[0]);
  if (auto fault = take_part(worker, at.what, first, count)) {
    return fault;
  }
  if (count > warp.registers) {
    return worker.misuse(at.what, first, at.pc, fmt::format("the warp has only {} registers", warp.registers));
  }
  set(machine, first, count);
  // Those who wait look again whether there are enough.
  const std::uint32_t begin = worker.rank() * machine.block_threads;
  for (std::uint32_t thread = begin; thread < begin + machine.block_threads; ++thread) {
    if (worker.state(thread).wait == WaitKind::kRegisters) {
      worker.wake(thread);
    }
  }
  return std::nullopt;
}

std::optional<Fault> begin_increase(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> operands) {
  Machine& machine = worker.machine();
  const WarpState& warp = machine.warps[machine.warp_of(first)];
  const Thread& at = worker.state(first);
  const auto count = static_cast<std::uint32_t>(operands[0]);
  if (auto fault = take_part(worker, at.what, first, count)) {
    return fault;
  }
  if (count < warp.registers && warp.registers_known) {
    return worker.misuse(at.what, first, at.pc, fmt::format("the warp has {} registers already", warp.registers));
  }
  return std::nullopt;
}

// The first lane to find enough takes them for its warp.
bool take(Machine& machine, std::uint32_t thread, std::uint32_t count) {
  const WarpState& warp = machine.warps[machine.warp_of(thread)];
  const BlockState& block = machine.blocks[thread / machine.block_threads];
  if (warp.registers != count && (std::int64_t{count} - std::int64_t{warp.registers}) * kWarp <= block.free_registers) {
    set(machine, thread, count);
  }
  return warp.registers == count;
}

void set_registers(int increase, unsigned count, void* pc) {
  Worker& worker = Worker::current();
  const char* what = name_of(increase != 0, count);
  if (increase == 0) {
    worker.act_in_warp(what, decrease, count, address_of(pc));
    return;
  }
  worker.act_in_warp(what, begin_increase, count, address_of(pc));
  while (!take(worker.machine(), worker.thread(), count)) {
    worker.wait(WaitKind::kRegisters, what, address_of(pc));
  }
}

}  // namespace

void add_registers(ConvtgenHostTable& table) {
  table.set_registers = set_registers;
}

}  // namespace convtgen::host
