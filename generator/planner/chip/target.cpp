#include "generator/planner/chip/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "generator/planner/chip/chip_code.h"

namespace convtgen {
namespace {

using enum Feature;

constexpr Features kTuring = {kLdmatrix, kMmaF16K8};
constexpr Features kAmpere = kTuring + Features{kMmaF16, kMmaBf16, kMmaTf32, kPackedConvert, kCpAsync, kMbarrier};
constexpr Features kHopper = kAmpere + Features{kTf32Convert, kStmatrix, kTma, kCluster, kPdl, kElect};

// What templates of mma.sync are predicted by. `multiply_adds` are an SM's by mma.sync of f16 in a cycle, where a
// product of 16 x 8 has 16 of depth. The rest is as the H200 has it: nobody measured these chips.
constexpr SmRates sm_rates(double clock_hz, double multiply_adds, double shared_bytes_per_cycle = 128) {
  return {.clock_hz = clock_hz,
          .mma_cycles = 16 * 8 * 16 / multiply_adds,
          .l2_bytes_per_cycle = 24,
          .shared_bytes_per_cycle = shared_bytes_per_cycle};
}

// Shared memory and threads: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Rates are
// of the boards' data sheets, except those of sm_90a; a rate that is computed has its factors after it.
const std::array kTargets = {
    Target{.architecture = "sm_75",
           .capability = 75,
           .board = "Quadro RTX 8000",
           .features = kTuring,
           .multiprocessors = 72,
           .max_shared_bytes = 64 * 1024,
           .shared_bytes_per_sm = 64 * 1024,
           .reserved_shared_bytes = 0,
           .max_threads_per_sm = 1024,
           .bytes_per_second = 0.672e12,
           .f32_flops = 16.3e12,
           .f64_flops = 0.51e12,   // 1/32 of f32
           .f16_flops = 130.5e12,  // the tensor cores take no tf32 and no bf16
           .sm = sm_rates(1.77e9, 512, 64)},
    Target{.architecture = "sm_80",
           .capability = 80,
           .board = "A100 80 GB",
           .features = kAmpere,
           .multiprocessors = 108,
           .max_shared_bytes = 163 * 1024,
           .shared_bytes_per_sm = 164 * 1024,
           .max_threads_per_sm = 2048,
           .bytes_per_second = 2.04e12,
           .f32_flops = 19.5e12,
           .f64_flops = 9.7e12,
           .tf32_flops = 156e12,
           .f16_flops = 312e12,
           .bf16_flops = 312e12,
           .sm = sm_rates(1.41e9, 1024)},
    // The memory and f32 of the RTX 3090, the SMs and tensor cores of the A40: those of a GeForce are half as fast.
    Target{.architecture = "sm_86",
           .capability = 86,
           .board = "RTX 3090 and A40",
           .features = kAmpere,
           .multiprocessors = 84,
           .max_shared_bytes = 99 * 1024,
           .shared_bytes_per_sm = 100 * 1024,
           .max_threads_per_sm = 1536,
           .bytes_per_second = 0.936e12,
           .f32_flops = 35.6e12,
           .f64_flops = 0.56e12,
           .tf32_flops = 74.8e12,
           .f16_flops = 149.7e12,
           .bf16_flops = 149.7e12,
           .sm = sm_rates(1.7e9, 512)},
    Target{.architecture = "sm_87",
           .capability = 87,
           .board = "Jetson AGX Orin",
           .features = kAmpere,
           .multiprocessors = 16,
           .max_shared_bytes = 163 * 1024,
           .shared_bytes_per_sm = 164 * 1024,
           .max_threads_per_sm = 1536,
           .bytes_per_second = 0.205e12,
           .f32_flops = 5.3e12,
           .f64_flops = 0.083e12,  // 1/64 of f32
           .tf32_flops = 21.3e12,  // 512 multiply-adds of an SM in a cycle of 1.3 GHz
           .f16_flops = 42.6e12,   // 1024
           .bf16_flops = 42.6e12,
           .sm = sm_rates(1.3e9, 1024)},
    // No board has a data sheet: the rates are the AGX Orin's.
    Target{.architecture = "sm_88",
           .capability = 88,
           .board = "Jetson AGX Orin",
           .features = kAmpere,
           .multiprocessors = 16,
           .max_shared_bytes = 99 * 1024,
           .shared_bytes_per_sm = 100 * 1024,
           .max_threads_per_sm = 1536,
           .bytes_per_second = 0.205e12,
           .f32_flops = 5.3e12,
           .f64_flops = 0.083e12,
           .tf32_flops = 21.3e12,
           .f16_flops = 42.6e12,
           .bf16_flops = 42.6e12,
           .sm = sm_rates(1.3e9, 1024)},
    Target{.architecture = "sm_89",
           .capability = 89,
           .board = "L40S",
           .features = kAmpere,
           .multiprocessors = 142,
           .max_shared_bytes = 99 * 1024,
           .shared_bytes_per_sm = 100 * 1024,
           .max_threads_per_sm = 1536,
           .bytes_per_second = 0.864e12,
           .f32_flops = 91.6e12,
           .f64_flops = 1.4e12,
           .tf32_flops = 183e12,
           .f16_flops = 362e12,
           .bf16_flops = 362e12,
           .sm = sm_rates(2.5e9, 512)},
    // Measured: a large copy, and fp32, tf32 and fp16 matrix products. f64 is the data sheet's, without tensor cores.
    Target{.architecture = "sm_90a",
           .capability = 90,
           .board = "H200",
           .rates = RateSource::kMeasured,
           .features = kHopper + Features{kSetmaxnreg, kWgmma},
           .multiprocessors = 132,
           .max_shared_bytes = 227 * 1024,
           .shared_bytes_per_sm = 228 * 1024,
           .max_threads_per_sm = 2048,
           .bytes_per_second = 4.2e12,
           .f32_flops = 51e12,
           .f64_flops = 34e12,
           .tf32_flops = 360e12,
           .f16_flops = 715e12,
           .bf16_flops = 715e12,
           .sm = {.clock_hz = 1.7e9,
                  .tensor_columns_per_cycle = 2,
                  .least_product_cycles = 17,
                  .mma_cycles = 1.43,  // 643 TFLOP/s
                  .l2_bytes_per_cycle = 24,
                  .shared_bytes_per_cycle = 128,
                  .copied_bytes_per_cycle = 16}},
    // The ceilings are tcgen05's, which no template uses. 1024 multiply-adds of f16 by mma.sync are an estimate:
    // kernels that others published reach 677.
    Target{.architecture = "sm_100",
           .capability = 100,
           .board = "B200",
           .features = kHopper,
           .multiprocessors = 148,
           .max_shared_bytes = 227 * 1024,
           .shared_bytes_per_sm = 228 * 1024,
           .max_threads_per_sm = 2048,
           .bytes_per_second = 8.0e12,
           .f32_flops = 75e12,
           .f64_flops = 37e12,
           .tf32_flops = 1125e12,
           .f16_flops = 2250e12,
           .bf16_flops = 2250e12,
           .sm = sm_rates(1.85e9, 1024)},
    Target{.architecture = "sm_103",
           .capability = 103,
           .board = "B300",
           .features = kHopper,
           .multiprocessors = 148,
           .max_shared_bytes = 227 * 1024,
           .shared_bytes_per_sm = 228 * 1024,
           .max_threads_per_sm = 2048,
           .bytes_per_second = 8.0e12,
           .f32_flops = 75e12,
           .f64_flops = 1.2e12,  // 1/64 of f32
           .tf32_flops = 1125e12,
           .f16_flops = 2250e12,
           .bf16_flops = 2250e12,
           .sm = sm_rates(1.85e9, 1024)},
    Target{.architecture = "sm_110",
           .capability = 110,
           .board = "Jetson AGX Thor",
           .features = kHopper,
           .multiprocessors = 20,
           .max_shared_bytes = 227 * 1024,
           .shared_bytes_per_sm = 228 * 1024,
           .max_threads_per_sm = 1536,
           .bytes_per_second = 0.273e12,
           .f32_flops = 8.0e12,
           .f64_flops = 0.13e12,  // 1/64 of f32
           .tf32_flops = 129e12,  // half of f16
           .f16_flops = 258e12,   // an eighth of the 2070 TFLOP/s of sparse fp4
           .bf16_flops = 258e12,
           .sm = sm_rates(1.57e9, 1024)},
    Target{.architecture = "sm_120",
           .capability = 120,
           .board = "RTX PRO 6000",
           .features = kHopper,
           .multiprocessors = 188,
           .max_shared_bytes = 99 * 1024,
           .shared_bytes_per_sm = 100 * 1024,
           .max_threads_per_sm = 1536,
           .bytes_per_second = 1.79e12,
           .f32_flops = 125e12,
           .f64_flops = 1.95e12,
           .tf32_flops = 250e12,
           .f16_flops = 500e12,  // 512 multiply-adds of an SM in a cycle of 2.6 GHz
           .bf16_flops = 500e12,
           .sm = sm_rates(2.5e9, 512)},
    Target{.architecture = "sm_121",
           .capability = 121,
           .board = "DGX Spark",
           .features = kHopper,
           .multiprocessors = 48,
           .max_shared_bytes = 99 * 1024,
           .shared_bytes_per_sm = 100 * 1024,
           .max_threads_per_sm = 1536,
           .bytes_per_second = 0.273e12,
           .f32_flops = 29.5e12,  // 128 multiply-adds of an SM in a cycle of 2.4 GHz
           .f64_flops = 0.46e12,  // 1/64 of that
           .tf32_flops = 59e12,
           .f16_flops = 118e12,  // 512
           .bf16_flops = 118e12,
           .sm = sm_rates(2.4e9, 512)},
};

// The largest GeForce board of an architecture.
struct GeForce {
  std::string_view architecture, board;
  int multiprocessors;
  double bytes_per_second;
  double clock_hz;
  double multiply_adds = 256;      // of f16 by mma.sync with f32 accumulators, of an SM in a cycle; of tf32 half
  double f32_multiply_adds = 128;  // FFMA
  double f64_share = 1.0 / 64;     // of f32
  double shared_bytes_per_cycle = 128;
};
constexpr std::array kGeForce = {
    GeForce{.architecture = "sm_75",
            .board = "RTX 2080 Ti",
            .multiprocessors = 68,
            .bytes_per_second = 0.616e12,
            .clock_hz = 1.55e9,
            .f32_multiply_adds = 64,
            .f64_share = 1.0 / 32,
            .shared_bytes_per_cycle = 64},
    GeForce{"sm_86", "RTX 3090", 82, 0.936e12, 1.7e9},
    GeForce{"sm_89", "RTX 4090", 128, 1.008e12, 2.5e9},
    GeForce{"sm_120", "RTX 5090", 170, 1.792e12, 2.4e9},
};

// 87 of "sm_87" or, with that prefix, "compute_87".
std::optional<int> capability_in(std::string_view name, std::string_view prefix) {
  int capability = 0;
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), capability);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(capability) : std::nullopt;
}

// What a chip without a known target gets.
std::optional<CodeTarget> code_of_other_chip(std::string_view name) {
  for (const int chip : kChipsPlannedAsOthers) {
    if (capability_in(name, "sm_") == chip) {
      return CodeTarget{*target_of_chip(chip), false};
    }
    if (capability_in(name, "compute_") == chip) {
      return CodeTarget{*ptx_target_of_chip(chip), true};
    }
  }
  return std::nullopt;
}

}  // namespace

Target target_of_gpu(Target target, std::string_view gpu) {
  const auto known = std::ranges::find(kGeForce, target.architecture, &GeForce::architecture);
  if (known == kGeForce.end() || !gpu.contains("GeForce")) {
    return target;
  }
  // A chip's own number of SMs stays, with rates in proportion.
  const auto table = std::ranges::find(kTargets, target.architecture, &Target::architecture);
  if (target.multiprocessors == table->multiprocessors) {
    target.multiprocessors = known->multiprocessors;
  }
  const double cycles = 2 * known->clock_hz * target.multiprocessors;  // of all SMs in a second, two flops each
  target.board = known->board;
  target.bytes_per_second = known->bytes_per_second * target.multiprocessors / known->multiprocessors;
  target.f32_flops = cycles * known->f32_multiply_adds;
  target.f64_flops = target.f32_flops * known->f64_share;
  target.f16_flops = cycles * known->multiply_adds;
  // What the architecture's tensor cores don't take stays 0.
  target.bf16_flops = target.bf16_flops > 0 ? target.f16_flops : 0;
  target.tf32_flops = target.tf32_flops > 0 ? target.f16_flops / 2 : 0;
  target.sm = sm_rates(known->clock_hz, known->multiply_adds, known->shared_bytes_per_cycle);
  return target;
}

std::span<const Target> known_targets() {
  return kTargets;
}

Result<Target> target_named(std::string_view architecture) {
  for (const Target& target : kTargets) {
    if (target.architecture == architecture) {
      return target;
    }
  }
  if (const std::optional<int> capability = capability_in(architecture, "sm_")) {
    if (Result<Target> own = target_of_chip(*capability); own && own->architecture == architecture) {
      return own;
    }
  }
  return fail(
      fmt::format("unknown architecture '{}'; known are {}", architecture, fmt::join(real_target_names(), ", ")));
}

bool is_portable(const Target& target) {
  return !target.architecture.ends_with('a');
}

std::string name_of(const CodeTarget& code) {
  const std::string& real = code.target.architecture;
  return code.is_ptx ? "compute_" + real.substr(real.find('_') + 1) : real;
}

Result<CodeTarget> code_target_named(std::string_view name) {
  for (const Target& target : kTargets) {
    for (const bool is_ptx : {false, true}) {
      CodeTarget code{target, is_ptx};
      if (name_of(code) != name) {
        continue;
      }
      if (is_ptx && !is_portable(target)) {
        return fail(fmt::format("{}: PTX of an 'a' architecture runs on that chip alone, as {} does; legal are {}",
                                name, target.architecture, fmt::join(code_target_names(), ", ")));
      }
      return code;
    }
  }
  if (const std::optional<CodeTarget> code = code_of_other_chip(name)) {
    return *code;
  }
  if (Result<Target> own = target_named(name)) {
    return CodeTarget{*std::move(own), false};
  }
  return fail(fmt::format("unknown architecture '{}'; legal are {}", name, fmt::join(code_target_names(), ", ")));
}

std::vector<std::string> real_target_names() {
  std::vector<Target> targets(kTargets.begin(), kTargets.end());
  for (const int chip : kChipsPlannedAsOthers) {
    if (Target target = *target_of_chip(chip); target.capability == chip) {
      targets.push_back(std::move(target));
    }
  }
  std::ranges::sort(targets, {}, &Target::capability);
  std::vector<std::string> names;
  for (const Target& target : targets) {
    names.push_back(target.architecture);
  }
  return names;
}

std::vector<std::string> code_target_names() {
  std::vector<std::string> names = real_target_names();
  for (const Target& target : kTargets) {
    if (is_portable(target)) {
      names.push_back(name_of(CodeTarget{target, true}));
    }
  }
  return names;
}

}  // namespace convtgen
