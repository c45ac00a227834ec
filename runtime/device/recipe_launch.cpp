#include "runtime/device/recipe_launch.h"

#include <fmt/format.h>

#include <algorithm>

namespace convtgen {
namespace {

std::vector<KernelLaunch> in_order(const LoadedKernels& kernels, std::span<const Launch> launches) {
  std::vector<KernelLaunch> order;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].blocks > 0) {
      order.push_back({*kernels[i], launches[i]});
    }
  }
  return order;
}

}  // namespace

Result<LoadedKernels> load_kernels(Device& device, const Recipe& recipe, const Binary& binary) {
  if (!std::ranges::equal(recipe.kernels, binary.kernels, {}, &RecipeKernel::symbol, &BinaryKernel::symbol)) {
    return fail(fmt::format("the binary of {} has other kernels than its recipe", binary.symbol));
  }
  LoadedKernels kernels;
  for (const BinaryKernel& kernel : binary.kernels) {
    auto loaded = device.load(binary, kernel);
    if (!loaded) {
      return std::unexpected(loaded.error());
    }
    kernels.push_back(*std::move(loaded));
  }
  return kernels;
}

Result<std::vector<Launch>> launches_of(const CallForm& form, const Arrays& arrays, const Call& call) {
  const std::vector<RecipeKernel>& kernels = form.recipe().kernels;
  std::vector<Launch> launches(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const RecipeKernel& kernel = kernels[k];
    Launch& launch = launches[k];
    launch.blocks = call.kernels[k].blocks;
    launch.threads = kernel.threads;
    launch.shared_bytes = kernel.shared_bytes;
    launch.pdl_buffer = call.kernels[k].waits ? reinterpret_cast<std::uint64_t>(arrays.workspace) : 0;
    if (launch.blocks == 0) {
      continue;
    }
    launch.arguments.assign(call.kernels[k].slots.begin(),
                            call.kernels[k].slots.begin() + static_cast<std::ptrdiff_t>(kernel.arguments.size()));
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      if (kernel.arguments[i].kind == KernelArgument::Kind::kMap) {
        auto map = form.map(kernel.arguments[i].index, arrays, call);
        if (!map) {
          return std::unexpected(map.error());
        }
        launch.arguments[i] = 0;
        launch.tensor_maps.push_back({i, *map});
      }
    }
  }
  return launches;
}

Result<void> run_launches(Device& device, const LoadedKernels& kernels, std::span<const Launch> launches) {
  for (const auto& [kernel, launch] : in_order(kernels, launches)) {
    if (auto ran = device.run(kernel, launch); !ran) {
      return ran;
    }
  }
  return {};
}

Result<double> time_launches(Device& device, const LoadedKernels& kernels, std::span<const Launch> launches,
                             int repeats) {
  return device.time(in_order(kernels, launches), repeats);
}

}  // namespace convtgen
