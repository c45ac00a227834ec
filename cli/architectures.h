// --arch: what kernels are made for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "generator/planner/chip/target.h"

namespace convtgen::cli {

/// Real architectures are chips ("sm_80"); virtual architectures are for PTX ("compute_80").
enum class Architectures { kReal, kRealAndVirtual };
/// --arch with one or more architectures; duplicates are dropped. "native" is what the kernels of this machine's GPUs
/// are made for (code_for_chip()), "all" every known target.
void add_architectures_option(CLI::App& verb, std::vector<std::string>& architectures, Architectures which);

/// What "native" stands for. Errors: no GPU, or none with kernels, and why.
[[nodiscard]] Result<std::vector<CodeTarget>> native_codes();

}  // namespace convtgen::cli
