"""The part of libconvtgen's C API (runtime/include/convtgen/convtgen.h) that the benchmark calls, through ctypes."""

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p, sizeof

# convtgen_direction.
DIRECTIONS = {"forward": 0, "grad_input": 1, "grad_weight": 2, "grad_bias": 3}


class Sizes(Structure):
    """convtgen_sizes."""

    _fields_ = [("batch", c_int64), ("extents", c_int64 * 3)]


class Tensors(Structure):
    """convtgen_tensors."""

    _fields_ = [("struct_size", c_size_t)] + [
        (role, c_void_p)
        for role in ("x", "weight", "bias", "y", "grad_y", "grad_x", "grad_weight", "grad_bias", "workspace")
    ] + [("workspace_bytes", c_size_t)]


def _sizes(sizes):
    """(batch, height, width) or (batch, depth, height, width) as the API takes it; None stands for the layer's own."""
    return None if sizes is None else byref(Sizes(sizes[0], (c_int64 * 3)(*[1] * (4 - len(sizes)), *sizes[1:])))


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
            ("convtgen_prepare", c_int, (c_void_p, c_void_p, c_int, POINTER(c_void_p))),
            ("convtgen_tune", c_int, (c_void_p, c_void_p, c_int, POINTER(Sizes), c_void_p, POINTER(c_double))),
            ("convtgen_kernel_workspace", c_int, (c_void_p, POINTER(Sizes), POINTER(c_size_t), POINTER(c_size_t))),
            ("convtgen_launch", c_int, (c_void_p, POINTER(Tensors), POINTER(Sizes), c_void_p)),
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

    def prepare(self, device, layer, direction="forward"):
        handle = c_void_p()
        self._check(self._c.convtgen_prepare(device, layer, DIRECTIONS[direction], byref(handle)))
        return handle

    def tune(self, device, layer, direction="forward"):
        """At the layer's own sizes."""
        self._check(self._c.convtgen_tune(device, layer, DIRECTIONS[direction], None, None, None))

    def workspace(self, kernel, sizes=None):
        """Bytes of the workspace of a launch at (batch, height, width), or at the layer's own sizes."""
        return self.workspaces(kernel, sizes)[0]

    def workspaces(self, kernel, sizes=None):
        """The same, with those of them that hold packed weights."""
        size, kept = c_size_t(), c_size_t()
        self._check(self._c.convtgen_kernel_workspace(kernel, _sizes(sizes), byref(size), byref(kept)))
        return size.value, kept.value

    def launch(self, kernel, x, weight, bias, y, workspace, workspace_bytes, stream, sizes=None):
        """At (batch, height, width), or at the layer's own sizes; the arrays are addresses, bias and workspace 0 if
        absent."""
        self.launch_roles(kernel, {"x": x, "weight": weight, "bias": bias or None, "y": y}, workspace, workspace_bytes,
                          stream, sizes)

    def launch_roles(self, kernel, roles, workspace, workspace_bytes, stream, sizes=None):
        """The same with addresses by their roles, as a direction has them: {"grad_y": ..., "weight": ..., "grad_x": ...}."""
        tensors = Tensors(struct_size=sizeof(Tensors), workspace=workspace or None, workspace_bytes=workspace_bytes, **roles)
        self._check(self._c.convtgen_launch(kernel, byref(tensors), _sizes(sizes), stream))

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
