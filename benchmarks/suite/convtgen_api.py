"""The part of libconvtgen's C API (runtime/include/convtgen/convtgen.h) that the benchmark calls, through ctypes."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p


OWN_SIZES = (-1, -1, -1)  # of the layer, where it has them


class ConvtgenError(RuntimeError):
    pass


class Library:
    def __init__(self, path):
        self._c = ctypes.CDLL(path)
        for name, result, arguments in (
            ("convtgen_version_text", c_char_p, ()),
            ("convtgen_last_error", c_char_p, ()),
            ("convtgen_layer_parse", c_int, (c_char_p, c_char_p, POINTER(c_void_p))),
            ("convtgen_layer_text", c_char_p, (c_void_p,)),
            ("convtgen_layer_destroy", None, (c_void_p,)),
            ("convtgen_device_open", c_int, (c_char_p, POINTER(c_void_p))),
            ("convtgen_prepare", c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
            ("convtgen_tune", c_int, (c_void_p, c_void_p) + (c_int64,) * 3 + (c_int, c_void_p, c_void_p, POINTER(c_double))),
            ("convtgen_kernel_workspace", c_int, (c_void_p,) + (c_int64,) * 3 + (POINTER(c_size_t),)),
            ("convtgen_launch", c_int, (c_void_p,) * 6 + (c_int64,) * 3 + (c_void_p,)),
            ("convtgen_kernel_plan", c_char_p, (c_void_p,)),
            ("convtgen_kernel_key", c_char_p, (c_void_p,)),
            ("convtgen_kernel_destroy", None, (c_void_p,)),
        ):
            function = getattr(self._c, name)
            function.restype, function.argtypes = result, arguments

    def _check(self, status):
        if status != 0:
            raise ConvtgenError(self._c.convtgen_last_error().decode())

    def version(self):
        return self._c.convtgen_version_text().decode()

    def layer(self, text, name=None):
        """A handle; a process that ends soon need not destroy it."""
        handle = c_void_p()
        self._check(self._c.convtgen_layer_parse(text.encode(), name.encode() if name else None, byref(handle)))
        return handle

    def canonical(self, layer):
        return self._c.convtgen_layer_text(layer).decode()

    def device(self, which="cuda"):
        handle = c_void_p()
        self._check(self._c.convtgen_device_open(which.encode(), byref(handle)))
        return handle

    def prepare(self, device, layer):
        handle = c_void_p()
        self._check(self._c.convtgen_prepare(device, layer, byref(handle)))
        return handle

    def tune(self, device, layer):
        """At the layer's own sizes."""
        self._check(self._c.convtgen_tune(device, layer, -1, -1, -1, 0, None, None, None))

    def workspace(self, kernel, sizes=OWN_SIZES):
        """Bytes of the workspace of a launch at (batch, height, width)."""
        size = c_size_t()
        self._check(self._c.convtgen_kernel_workspace(kernel, *sizes, byref(size)))
        return size.value

    def launch(self, kernel, x, weight, bias, y, workspace, stream, sizes=OWN_SIZES):
        """At (batch, height, width); the arrays are addresses, bias and workspace 0 where there is none."""
        self._check(self._c.convtgen_launch(kernel, x, weight, bias, y, workspace, *sizes, stream))

    def template(self, kernel):
        """The name of the template that its plan has: "direct"."""
        return self._c.convtgen_kernel_plan(kernel).decode().split()[1].rstrip(":")

    def key(self, kernel):
        """The store's key of its binary."""
        return self._c.convtgen_kernel_key(kernel).decode()

    def destroy_layer(self, layer):
        self._c.convtgen_layer_destroy(layer)

    def destroy_kernel(self, kernel):
        self._c.convtgen_kernel_destroy(kernel)
