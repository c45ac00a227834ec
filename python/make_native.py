"""Writes the C source of the extension `convtgen._native`: make_native.py <convtgen.h> <file.c>.

The declarations are those of the public header, so that they stand in one place. cffi makes an extension of them that
keeps to Python's limited API: one binary serves Python 3.10 and all later ones.
"""

import re
import sys
from pathlib import Path

from cffi import FFI

# A launch by numbers alone: no struct to fill in from Python, field by field, which would take longer than the launch.
_LAUNCH = """
static int convtgen_py_launch(uintptr_t kernel, uintptr_t x, uintptr_t weight, uintptr_t bias, uintptr_t y,
                              uintptr_t grad_y, uintptr_t grad_x, uintptr_t grad_weight, uintptr_t grad_bias,
                              uintptr_t workspace, size_t workspace_bytes, int64_t batch, int64_t depth,
                              int64_t height, int64_t width, uintptr_t stream)"""
_LAUNCH_BODY = """ {
  convtgen_tensors tensors;
  convtgen_sizes sizes;
  memset(&tensors, 0, sizeof(tensors));
  tensors.struct_size = sizeof(tensors);
  tensors.x = (const void*)x;
  tensors.weight = (const void*)weight;
  tensors.bias = (const void*)bias;
  tensors.y = (void*)y;
  tensors.grad_y = (const void*)grad_y;
  tensors.grad_x = (void*)grad_x;
  tensors.grad_weight = (void*)grad_weight;
  tensors.grad_bias = (void*)grad_bias;
  tensors.workspace = (void*)workspace;
  tensors.workspace_bytes = workspace_bytes;
  sizes.batch = batch;
  sizes.extents[0] = depth;
  sizes.extents[1] = height;
  sizes.extents[2] = width;
  return convtgen_launch((convtgen_kernel*)kernel, &tensors, &sizes, (void*)stream);
}
"""


def declarations(header):
    """What cffi reads of a C header: no comments, no C++, no preprocessor lines but those that define numbers."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    text = re.sub(r"^#(?!define CONVTGEN_[A-Z_]+ \(?-?\d+\)?\s*$).*$", "", text, flags=re.M)
    text = re.sub(r"^(#define \w+) \((-?\d+)\)\s*$", r"\1 \2", text, flags=re.M)
    return text.replace("CONVTGEN_API ", "")


def main():
    header, out = Path(sys.argv[1]), Path(sys.argv[2])
    ffi = FFI()
    ffi.cdef(declarations(header.read_text()))
    ffi.cdef(_LAUNCH.replace("static ", "") + ";")
    ffi.cdef('extern "Python" int convtgen_py_progress(void* user, const char* doing, double fraction);')
    ffi.set_source("convtgen._native", "#include <convtgen/convtgen.h>\n#include <string.h>\n" + _LAUNCH + _LAUNCH_BODY,
                   py_limited_api=True)
    ffi.emit_c_code(str(out))


if __name__ == "__main__":
    main()
