// wgmma: each warp of a warpgroup makes its 16 rows of d, when its lanes have come.
#include "runtime/device/host/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/tensor_float.h"
#include "runtime/device/host/warpgroup.h"

namespace convtgen::host {
namespace {

constexpr const char* kFence = "wgmma_fence";
constexpr const char* kCommit = "wgmma_commit";
constexpr const char* kWait = "wgmma_wait";

constexpr std::uint32_t kWarpgroup = 128;
constexpr std::uint32_t kRows = 16;          // of d, of a warp
constexpr std::uint32_t kRowBytes = 32;      // of an operand, for the K of one instruction
constexpr std::uint32_t kOperandChunk = 16;  // of an operand, which every layout leaves whole
// Bits of a descriptor that no field has: after those of the start and of both pitches, and before the swizzle.
constexpr std::uint64_t kNoField = 0x3ff1'c000'c000'c000;

// What a lane brings to a product.
struct Product {
  float* d = nullptr;
  const unsigned* a = nullptr;  // registers; null where A is in shared memory
  std::uint64_t a_descriptor = 0;
  std::uint64_t b_descriptor = 0;
  std::uint32_t n = 0;
  std::uint32_t majors = 0;
  WgmmaElement element = WgmmaElement::kF16;
  bool accumulate = false;
  std::uintptr_t frame = 0;  // the thread's registers lie above, on its stack

  [[nodiscard]] std::uint32_t bytes_of_d() const { return n / 2 * 4; }
  [[nodiscard]] std::uint64_t form() const {
    const std::uint64_t shape = n | std::uint64_t{majors} << 16 | static_cast<std::uint64_t>(element) << 24 |
                                std::uint64_t{accumulate} << 32 | std::uint64_t{a != nullptr} << 40;
    return mix(mix(mix(shape) ^ a_descriptor) ^ b_descriptor);
  }
  [[nodiscard]] WgmmaOperand operand_a(std::uint32_t first_thread) const {
    return {.element = element,
            .rows = kRows,
            .mn_major = (majors & 1) != 0,
            .first_row = static_cast<int>(first_thread % kWarpgroup / kWarp * kRows)};
  }
  [[nodiscard]] WgmmaOperand operand_b() const {
    return {.element = element, .rows = static_cast<int>(n), .mn_major = (majors & 2) != 0};
  }
};

const Product& brought(std::uint64_t operand) {
  return *reinterpret_cast<const Product*>(operand);
}

std::vector<WarpgroupCollective>& collectives_of(Machine& machine, std::uint32_t thread) {
  const std::uint32_t warpgroups = (machine.block_warps + 3) / 4;  // of a block
  return machine.warpgroups[thread / machine.block_threads * warpgroups + thread % machine.block_threads / kWarpgroup];
}

// Of one thread: it may let product `number` use these registers, whose contents are then the product's.
std::optional<Fault> use_registers(Worker& worker, std::uint32_t thread, const ProductRegisters& used) {
  ThreadState& state = worker.machine().threads[thread];
  const std::uintptr_t pc = worker.state(thread).pc;
  const char* name = used.accumulators ? "accumulators" : "A registers";
  bool touched = !state.fenced;
  for (const ProductRegisters& old : state.registers) {
    if (old.begin >= used.begin + used.bytes || used.begin >= old.begin + old.bytes) {
      continue;
    }
    const bool same = old.begin == used.begin && old.bytes == used.bytes && old.accumulators == used.accumulators;
    if (!same && old.product > state.products_done) {
      return worker.misuse(worker.state(thread).what, thread, pc,
                           fmt::format("its {} are {} of another shape of a wgmma in flight", name,
                                       old.accumulators ? "accumulators" : "A registers"));
    }
    touched |= (same || old.product == 0) && old.touched;
  }
  if (touched) {
    return worker.misuse(worker.state(thread).what, thread, pc,
                         fmt::format("no wgmma_fence() since {} touched its {}", worker.name_of_thread(thread), name));
  }
  std::erase_if(state.registers, [&](const ProductRegisters& old) {
    return old.begin < used.begin + used.bytes && used.begin < old.begin + old.bytes;
  });
  state.registers.push_back(used);
  return std::nullopt;
}

std::optional<Fault> use_registers_of(Worker& worker, std::uint32_t thread, const Product& product,
                                      std::uint64_t number) {
  const auto local = [&](const void* pointer) { return address_of(pointer) - product.frame < kStackBytes; };
  if (!local(product.d) || (product.a != nullptr && !local(product.a))) {
    return worker.misuse(worker.state(thread).what, thread, worker.state(thread).pc,
                         "its registers are not a local array of the thread");
  }
  const ProductRegisters d{address_of(product.d), product.bytes_of_d(), true, number};
  auto fault = use_registers(worker, thread, d);
  if (!fault && product.a != nullptr) {
    const ProductRegisters a{address_of(product.a), 4 * sizeof(unsigned), false, number};
    fault = use_registers(worker, thread, a);
  }
  return fault;
}

// What the product reads of the block's shared memory for the warp. All lanes ask for it, so all must know of the
// writes. To be quick, each byte is looked at for one of them; the bytes are dealt out to all of them.
std::optional<Fault> read_operand(Worker& worker, std::uint32_t first, const char* name, std::uint64_t descriptor,
                                  const WgmmaOperand& operand) {
  Machine& machine = worker.machine();
  const std::uintptr_t pc = worker.state(first).pc;
  if ((descriptor & kNoField) != 0) {
    return worker.misuse(worker.state(first).what, first, pc,
                         fmt::format("the descriptor of {} ({:#x}): its start or a pitch is no multiple of 16, or out "
                                     "of the window of shared memory",
                                     name, descriptor));
  }
  const auto pieces = wgmma_pieces(kSharedStart + worker.launch().shared_bytes, descriptor, operand);
  if (!pieces) {
    return worker.misuse(worker.state(first).what, first, pc, fmt::format("{}: {}", name, pieces.error().message));
  }
  if (pieces->front().address < kSharedStart) {
    return worker.misuse(worker.state(first).what, first, pc,
                         fmt::format("{}: its descriptor leads to address {} of the window, before the block's shared "
                                     "memory, which begins at {}",
                                     name, pieces->front().address, kSharedStart));
  }
  const std::uint32_t window = worker.rank() * worker.launch().shared_stride - kSharedStart;
  const std::uint32_t bytes = static_cast<std::uint32_t>(operand.rows) * kRowBytes;  // at most
  const std::uint32_t part = (bytes / kWarp + kOperandChunk - 1) / kOperandChunk * kOperandChunk;
  std::uint32_t lane = worker.random().below(kWarp);
  const std::uint32_t agent = machine.products_agent(machine.warp_of(first));
  for (const WgmmaPiece& piece : *pieces) {
    const std::uint32_t begin = window + piece.address;
    for (std::uint32_t at = begin; at < begin + piece.bytes; at += part) {
      const std::uint32_t length = std::min(part, begin + piece.bytes - at);
      const std::uint32_t thread = first + lane++ % kWarp;
      if (auto fault = worker.check_clocked(at, length, false, thread, pc)) {
        return fault;
      }
      if (auto fault = worker.check_fenced(worker.state(first).what, at, length, thread, pc)) {
        return fault;
      }
    }
    machine.shadow.note_read(begin, piece.bytes, agent, machine.ordering.now(), worker.relative(pc));
  }
  return std::nullopt;
}

// Calls move(value of the lane, of the warp's rows) for each value of a lane's accumulators.
template <typename Move>
void for_each_value(Accumulators& accumulators, std::uint32_t lane, Move move) {
  for (int i = 0; i < static_cast<int>(accumulators.n / 2); ++i) {
    const WgmmaPlace place = wgmma_accumulator(static_cast<int>(lane), i);
    move(accumulators.places[lane] + static_cast<std::uint32_t>(i) * sizeof(float),
         accumulators
             .values[static_cast<std::size_t>(place.row) * accumulators.n + static_cast<std::size_t>(place.column)]);
  }
}

// The warp's accumulators of the product: those of one that has not been waited for, or the lanes' arrays, which hold
// nothing from here on. Null: the lanes name the same and others.
std::shared_ptr<Accumulators> find_accumulators(WarpState& warp, std::span<const std::uint64_t, kWarp> operands) {
  auto fresh = std::make_shared<Accumulators>();
  fresh->n = brought(operands[0]).n;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    fresh->places[lane] = address_of(brought(operands[lane]).d);
  }
  for (const auto& old : warp.accumulators) {
    if (old->places == fresh->places && old->n == fresh->n) {
      return old;
    }
    for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
      if (old->places[lane] == fresh->places[lane]) {
        return nullptr;
      }
    }
  }
  fresh->values.resize(std::size_t{kRows} * fresh->n);
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    for_each_value(*fresh, lane, [](std::uintptr_t from, float& value) {
      std::memcpy(&value, reinterpret_cast<const void*>(from), sizeof(value));
    });
    std::memset(brought(operands[lane]).d, 0xff, brought(operands[lane]).bytes_of_d());
  }
  warp.accumulators.push_back(fresh);
  return fresh;
}

// A of registers, by rows.
std::vector<float> gather_registers(std::span<const std::uint64_t, kWarp> operands) {
  const WgmmaElement element = brought(operands[0]).element;
  const int k = wgmma_k(element);
  std::vector<float> values(kRows * static_cast<std::size_t>(k));
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    std::array<unsigned, 4> registers{};
    std::memcpy(registers.data(), brought(operands[lane]).a, sizeof(registers));
    for (int i = 0; i < k / 2; ++i) {
      const WgmmaPlace place = wgmma_a_fragment(element, static_cast<int>(lane), i);
      float& value = values[static_cast<std::size_t>(place.row * k + place.column)];
      if (element == WgmmaElement::kTf32) {
        value = truncate_tf32(registers[static_cast<std::size_t>(i)]);
        continue;
      }
      const auto bits = static_cast<std::uint16_t>(registers[static_cast<std::size_t>(i / 2)] >> (i % 2 * 16));
      value = element == WgmmaElement::kF16 ? f16_value(bits) : bf16_value(bits);
    }
  }
  return values;
}

std::optional<Fault> multiply(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> operands) {
  Machine& machine = worker.machine();
  const std::uintptr_t pc = worker.state(first).pc;
  const Product& product = brought(operands[0]);
  for (std::uint32_t lane = 1; lane < kWarp; ++lane) {
    if (brought(operands[lane]).form() != product.form()) {
      return worker.misuse(worker.state(first).what, first + lane, worker.state(first + lane).pc,
                           fmt::format("the lanes of a warp disagree on the product: {} brings other operands",
                                       worker.name_of_thread(first)));
    }
  }
  if (auto fault = take_part(worker, worker.state(first).what, first, product.form())) {
    return fault;
  }
  const std::uint32_t warp = machine.warp_of(first);
  const std::uint64_t number = machine.operations.stream(machine.products_stream(warp)).issued + 1;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (auto fault = use_registers_of(worker, first + lane, brought(operands[lane]), number)) {
      return fault;
    }
  }
  const WgmmaOperand operand_a = product.operand_a(first % machine.block_threads);
  const WgmmaOperand operand_b = product.operand_b();
  if (product.a == nullptr) {
    if (auto fault = read_operand(worker, first, "A", product.a_descriptor, operand_a)) {
      return fault;
    }
  }
  if (auto fault = read_operand(worker, first, "B", product.b_descriptor, operand_b)) {
    return fault;
  }
  const auto accumulators = find_accumulators(machine.warps[warp], operands);
  if (accumulators == nullptr) {
    return worker.misuse(worker.state(first).what, first, pc,
                         "only some of its lanes name the accumulators of a wgmma in flight");
  }
  accumulators->product = number;
  const std::span<const std::byte> window(worker.shared() - kSharedStart, kSharedStart + worker.launch().shared_bytes);
  return machine.operations.issue(
      machine.products_stream(warp),
      [accumulators, window, operand_a, operand_b, a_descriptor = product.a_descriptor,
       b_descriptor = product.b_descriptor, accumulate = product.accumulate,
       a_values = product.a == nullptr ? std::vector<float>() : gather_registers(operands)] {
        const auto a =
            a_values.empty() ? gather_wgmma(window, a_descriptor, operand_a) : Result<std::vector<float>>(a_values);
        const auto b = gather_wgmma(window, b_descriptor, operand_b);
        if (a && b) {  // as was found when it was issued
          const WgmmaShape shape{kRows, operand_b.rows, wgmma_k(operand_b.element)};
          multiply_wgmma(accumulators->values, *a, *b, shape, accumulate);
        }
        return std::optional<Fault>();
      },
      worker.random());
}

std::optional<Fault> fence(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> /*operands*/) {
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    ThreadState& state = worker.machine().threads[first + lane];
    state.fenced = true;
    // Those of no product only say what was touched.
    std::erase_if(state.registers, [](const ProductRegisters& registers) { return registers.product == 0; });
    for (ProductRegisters& registers : state.registers) {
      registers.touched = false;
    }
  }
  return take_part(worker, kFence, first, 0);
}

std::optional<Fault> commit(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> /*operands*/) {
  Machine& machine = worker.machine();
  const Time time = machine.ordering.advance();
  machine.operations.close_group(machine.products_stream(machine.warp_of(first)), time);
  return take_part(worker, kCommit, first, 0);
}

struct Wait {
  std::uint32_t pending = 0;
  std::uintptr_t frame = 0;
};

// The lanes' arrays hold accumulators again. Those below the frame that waits are gone, and something else is there.
std::optional<Fault> give_back(Worker& worker, std::uint32_t first, Accumulators& accumulators,
                               std::span<const std::uint64_t, kWarp> operands) {
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (accumulators.places[lane] < reinterpret_cast<const Wait*>(operands[lane])->frame) {
      return worker.misuse(kWait, first + lane, worker.state(first + lane).pc,
                           "the function whose accumulators it waits for has returned");
    }
    for_each_value(accumulators, lane, [](std::uintptr_t to, float& value) {
      std::memcpy(reinterpret_cast<void*>(to), &value, sizeof(value));
    });
  }
  return std::nullopt;
}

std::optional<Fault> wait(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> operands) {
  Machine& machine = worker.machine();
  const std::uint32_t pending = reinterpret_cast<const Wait*>(operands[0])->pending;
  if (auto fault = take_part(worker, kWait, first, pending)) {
    return fault;
  }
  const std::uint32_t warp = machine.warp_of(first);
  const std::uint32_t stream = machine.products_stream(warp);
  const Stream::Group* covered = machine.operations.newest_covered(stream, pending);
  if (covered == nullptr) {
    return std::nullopt;
  }
  const Stream::Group group = *covered;
  if (auto fault = machine.operations.finish(stream, group.end)) {
    return fault;
  }
  const std::uint32_t agent = machine.products_agent(warp);
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    machine.ordering.learn(first + lane, agent, group.time);
    std::uint64_t& done = machine.threads[first + lane].products_done;
    done = std::max(done, group.end);
  }
  auto& all = machine.warps[warp].accumulators;
  for (const auto& accumulators : all) {
    if (accumulators->product <= group.end) {
      if (auto fault = give_back(worker, first, *accumulators, operands)) {
        return fault;
      }
    }
  }
  std::erase_if(all, [&](const auto& accumulators) { return accumulators->product <= group.end; });
  return std::nullopt;
}

void product_fence(void* pc) {
  Worker::current().act_in_warp(kFence, fence, 0, address_of(pc));
}

void product_commit(void* pc) {
  Worker::current().act_in_warp(kCommit, commit, 0, address_of(pc));
}

void product_wait(unsigned pending, void* pc) {
  const Wait brought{pending, address_of(__builtin_frame_address(0))};
  Worker::current().act_in_warp(kWait, wait, address_of(&brought), address_of(pc));
}

void product(float* d, unsigned n, int element, const unsigned* a, unsigned long long a_descriptor,
             unsigned long long b_descriptor, unsigned majors, int accumulate, const char* name, void* pc) {
  const Product brought{.d = d,
                        .a = a,
                        .a_descriptor = a_descriptor,
                        .b_descriptor = b_descriptor,
                        .n = n,
                        .majors = majors,
                        .element = static_cast<WgmmaElement>(element),
                        .accumulate = accumulate != 0,
                        .frame = address_of(__builtin_frame_address(0))};
  Worker::current().act_in_warp(name, multiply, address_of(&brought), address_of(pc));
}

}  // namespace

std::optional<Fault> take_part(Worker& worker, const char* what, std::uint32_t first, std::uint64_t form) {
  Machine& machine = worker.machine();
  const std::uintptr_t pc = worker.state(first).pc;
  if (first % machine.block_threads / kWarpgroup * kWarpgroup + kWarpgroup > machine.block_threads) {
    return worker.misuse(
        what, first, pc,
        fmt::format("the block's {} threads leave its last warpgroup (128) incomplete", machine.block_threads));
  }
  std::vector<WarpgroupCollective>& collectives = collectives_of(machine, first);
  std::uint64_t& number = machine.warps[machine.warp_of(first)].collectives;
  if (number == collectives.size()) {
    collectives.push_back({what, form, first, pc});
  }
  const WarpgroupCollective& other = collectives[number];
  if (other.what != what || other.form != form) {
    Fault made = worker.misuse(
        what, first, pc,
        fmt::format("the warps of a warpgroup disagree: {} came to {} instead", worker.name_of_thread(other.thread),
                    other.what == what ? "one with other operands" : other.what));
    made.has_other = true;
    made.other_pc = other.pc;
    return made;
  }
  ++number;
  return std::nullopt;
}

std::optional<Fault> leaves_products(Worker& worker) {
  Machine& machine = worker.machine();
  const std::uint32_t thread = worker.thread();
  const std::uint32_t warp = machine.warp_of(thread);
  const std::vector<WarpgroupCollective>& collectives = collectives_of(machine, thread);
  if (machine.operations.stream(machine.products_stream(warp)).issued > machine.threads[thread].products_done) {
    auto last = machine.warps[warp].collectives - 1;
    while (!std::string_view(collectives[last].what).starts_with("wgmma_m64")) {
      --last;
    }
    return worker.misuse(collectives[last].what, collectives[last].pc,
                         "the thread ends before a wgmma_wait() that covers it");
  }
  // The last thread of the warpgroup to end sees whether all its warps came to all of its collectives.
  const std::uint32_t in_block = worker.thread_in_block() / kWarpgroup * kWarpgroup;
  const std::uint32_t begin = thread - worker.thread_in_block() + in_block;
  const std::uint32_t end = begin + std::min(kWarpgroup, machine.block_threads - in_block);
  for (std::uint32_t other = begin; other < end; ++other) {
    const std::uint64_t came = machine.warps[machine.warp_of(other)].collectives;
    if (came == collectives.size()) {
      continue;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      if (i != thread && worker.state(i).wait != WaitKind::kDone) {
        return std::nullopt;
      }
    }
    const WarpgroupCollective& missed = collectives[came];
    return worker.misuse(missed.what, missed.thread, missed.pc,
                         fmt::format("the warp of {} took part in {} of the {} collectives of its warpgroup, not in "
                                     "this one",
                                     worker.name_of_thread(other), came, collectives.size()));
  }
  return std::nullopt;
}

void add_registers(ConvtgenHostTable& table);

void add_products(ConvtgenHostTable& table) {
  table.product_fence = product_fence;
  table.product_commit = product_commit;
  table.product_wait = product_wait;
  table.product = product;
  add_registers(table);
}

}  // namespace convtgen::host
