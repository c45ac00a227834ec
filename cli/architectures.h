// --arch: what kernels are made for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace convtgen::cli {

/// --arch, one of the known ones, sm_90a unless given. "native" is that of the first GPU of this machine.
void add_architecture_option(CLI::App& verb, std::string& architecture);

/// Real ones are chips ("sm_80"), virtual ones PTX ("compute_80").
enum class Architectures { kReal, kRealAndVirtual };
/// --arch, one or more, each once however often it was given. "native" is those of this machine's GPUs, "all" every
/// known chip's.
void add_architectures_option(CLI::App& verb, std::vector<std::string>& architectures, Architectures which);

}  // namespace convtgen::cli
