#!/usr/bin/env bash
# The wheel in fresh environments: wheel.sh [<version of PyTorch>...]; unless given, the oldest and the newest that it is
# for. Builds it, asks auditwheel for its tag, runs the Python tests with it, and looks at what an uninstall leaves.
# Needs some 6 GB of disk for each version. Part of tests/run.sh --all.
set -euo pipefail
cd "$(dirname "$0")/../.."
if (($# > 0)); then versions=("$@"); else versions=('==2.6.0' ''); fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 -m venv "$folder/build"
"$folder/build/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel
"$folder/build/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$folder" .
wheel=("$folder"/convtgen-*-cp310-abi3-*.whl)
# What glibc a wheel needs is in its tag; auditwheel finds it from the symbols.
tag=$("$folder/build/bin/auditwheel" show "${wheel[0]}" | tr '\n' ' ' | grep -oE 'manylinux_2_[0-9]+' | sort -t_ -k3 -n | tail -n 1)
echo "wheel: $(basename "${wheel[0]}"), $(stat -c %s "${wheel[0]}") bytes, $tag"
if ((${tag##*_} > 35)); then
  echo "FAILED: $tag is newer than manylinux_2_35" >&2
  exit 1
fi

# Tests and what they run lie away from the checkout, so that nothing but the wheel can be imported.
mkdir -p "$folder/tests" "$folder/examples" "$folder/benchmarks"
cp -r tests/python "$folder/tests/"
cp -r examples/pytorch "$folder/examples/"
cp -r benchmarks/pytorch "$folder/benchmarks/"
for version in "${versions[@]}"; do
  environment="$folder/torch$version"
  cmake/install_python.sh "$environment" "torch$version" >/dev/null
  find "$environment" -not -name '*.pyc' -not -name __pycache__ | sort >"$folder/before"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "${wheel[0]}"
  "$environment/bin/python" -c 'import torch; print("PyTorch", torch.__version__)'
  for file in "$folder"/tests/python/test_*.py; do
    (cd "$folder" && PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 CONVTGEN_CACHE_DIR="$folder/cache" \
      "$environment/bin/python" -m pytest -q -p no:cacheprovider "$file")
  done
  "$environment/bin/python" -m pip uninstall --quiet --yes convtgen
  find "$environment" -not -name '*.pyc' -not -name __pycache__ | sort >"$folder/after"
  diff "$folder/before" "$folder/after" || { echo "FAILED: an uninstall leaves these" >&2; exit 1; }
done
echo "the wheel passed"
