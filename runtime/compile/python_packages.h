// Where Python's packages are on this machine, found without running Python where that is possible.
#pragma once

#include <filesystem>
#include <vector>

namespace convtgen {

/// The folders "<site-packages>/nvidia/*/lib" of a folder that packages were installed in, as nvidia-cuda-nvrtc makes
/// them; none where there are no packages of NVIDIA's.
[[nodiscard]] std::vector<std::filesystem::path> nvidia_libraries_in(const std::filesystem::path& site_packages);

/// The same of every site-packages folder that can be known without running Python: of $VIRTUAL_ENV, $CONDA_PREFIX,
/// the python3 on PATH (as named and as linked), ~/.local, /usr/local and /usr.
[[nodiscard]] std::vector<std::filesystem::path> nvidia_libraries_of_python();

/// The same of sys.path, by running the python3 on PATH: it alone knows of pyenv's shims, .pth files, odd prefixes.
[[nodiscard]] std::vector<std::filesystem::path> nvidia_libraries_asking_python();

/// The first python3 on PATH, as it is named there; empty if not found.
[[nodiscard]] std::filesystem::path python_on_path();

}  // namespace convtgen
