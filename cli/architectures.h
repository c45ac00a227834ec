// --arch: what kernels are made for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace convtgen::cli {

/// Real architectures are chips ("sm_80"); virtual architectures are for PTX ("compute_80").
enum class Architectures { kReal, kRealAndVirtual };
/// --arch with one or more architectures; duplicates are dropped. "native" is those of this machine's GPUs, "all" those
/// of every known chip.
void add_architectures_option(CLI::App& verb, std::vector<std::string>& architectures, Architectures which);

}  // namespace convtgen::cli
