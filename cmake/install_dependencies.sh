#!/usr/bin/env bash
# Installs what the build needs, from the distribution's packages: install_dependencies.sh [build] [tests] [python] [templates] [browser] [packages].
#   build      compiler, CMake, libraries: enough for the command line and the quickstart
#   tests      GoogleTest, Google Benchmark and what the tests call besides
#   python     headers and environments of Python, to build and test the Python package
#   templates  Clang 19's development files, to make the template programs again and to fuzz
#   browser    Chromium without a window, to look at the gallery
#   packages   what cmake/release.sh makes packages with
# It installs only what is missing, and asks for administrator rights only then.
set -euo pipefail

packages=()
for part in "${@:-build}"; do
  case "$part" in
    build) packages+=(g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libboost-context-dev
                      libsodium-dev libprotozero-dev python3 python3-pip) ;;
    tests) packages+=(libgtest-dev libgmock-dev libbenchmark-dev binutils git make pkg-config) ;;
    python) packages+=(python3-dev python3-venv) ;;
    templates) packages+=(clang-19 libclang-19-dev libclang-cpp19-dev llvm-19-dev libclang-rt-19-dev) ;;
    browser) packages+=(chromium-headless-shell) ;;
    packages) packages+=(binutils dpkg-dev file git) ;;
    *) echo "install_dependencies.sh: unknown part '$part'; legal are build, tests, python, templates, browser, packages" >&2; exit 2 ;;
  esac
done

# Ubuntu 22.04's default compiler is too old for C++23's std::expected.
. /etc/os-release
if [[ "${ID:-}" == ubuntu && "${VERSION_ID:-}" == 22.* ]]; then
  packages+=(g++-12)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi
echo "installing: ${missing[*]}" >&2
as_root=()
if [[ "$(id -u)" != 0 ]]; then
  command -v sudo >/dev/null || { echo "install_dependencies.sh: ${missing[*]} are missing, and this is neither root nor is there sudo" >&2; exit 2; }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
