"""The C API as Python objects: Layer, Device, Kernel, Error."""

import enum

from ._native import ffi, lib

#: What a kernel computes, by the language's words: convtgen_direction.
DIRECTIONS = {"forward": 0, "grad_input": 1, "grad_weight": 2, "grad_bias": 3}


class Status(enum.IntEnum):
    """convtgen_status."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_LAYER = 2
    UNSUPPORTED = 3
    NO_DEVICE = 4
    NO_COMPILER = 5
    COMPILE_FAILED = 6
    DRIVER = 7
    NOT_PREPARED = 8
    CANCELLED = 9
    OUT_OF_MEMORY = 10
    FORKED = 11
    KERNEL_FAULT = 12
    INTERNAL = 13


class Error(RuntimeError):
    """What a call of the library failed with: `status`, and a message that says what would be legal."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = Status(status)


def check(status):
    """Raises what the last call failed with; 0 is no failure."""
    if status != 0:
        raise Error(status, text(lib.convtgen_last_error()))


def text(characters):
    """A C string."""
    return ffi.string(characters).decode()


def version():
    """Of the library: "0.2.0"."""
    return text(lib.convtgen_version_text())


def counters():
    """What this process has done so far: {"compiles": 3, "hits": 12, ...} (convtgen_counters)."""
    out = ffi.new("convtgen_counters*")
    out.struct_size = ffi.sizeof("convtgen_counters")
    check(lib.convtgen_get_counters(out))
    names = [name for name, _ in ffi.typeof("convtgen_counters").fields if name != "struct_size"]
    return {name: getattr(out, name) for name in names}


def choice(key, made=None):
    """What was chosen before under `key`, by any process of the user; "" where nothing was. Where nothing was and `made`
    is a text, that is kept, unless another process was first: its choice is returned then."""
    out = ffi.new("char const**")
    check(lib.convtgen_choice(key.encode(), ffi.NULL if made is None else made.encode(), out))
    return text(out[0])


def _direction(name):
    if name not in DIRECTIONS:
        raise Error(Status.INVALID_ARGUMENT, f"direction '{name}'; legal are {', '.join(DIRECTIONS)}")
    return DIRECTIONS[name]


_SIZES = {1: "(batch, length)", 2: "(batch, height, width)", 3: "(batch, depth, height, width)"}


def _axes_of(layer_text):
    return int(layer_text[len("conv_transpose")])


def _check_sizes(sizes, axes):
    if sizes is None or len(sizes) != axes + 1:
        raise Error(Status.INVALID_ARGUMENT, f"sizes {sizes}; legal are {axes + 1} numbers, {_SIZES[axes]}")


def _sizes(sizes, axes):
    """Sizes of x as the C API takes them; None stands for the layer's own."""
    if sizes is None:
        return ffi.NULL
    _check_sizes(sizes, axes)
    out = ffi.new("convtgen_sizes*")
    out.batch, out.extents = sizes[0], [1] * (4 - len(sizes)) + list(sizes[1:])
    return out


def _own(handle, destroy):
    return ffi.gc(handle, destroy)


class Layer:
    """A layer that is checked; immutable. Layers with equal text are equal.

    Args:
      text: one layer in its one-line form ("conv_transpose2d 64 -> 32; kernel 4; stride 2"), or a whole layer file
        (docs/language.md).
      name: which layer of the file; None where there is only one.

    Raises:
      Error: all errors of the text, each with its line and a caret.
    """

    def __init__(self, text, name=None):
        out = ffi.new("convtgen_layer**")
        check(lib.convtgen_layer_parse(text.encode(), ffi.NULL if name is None else name.encode(), out))
        self.handle = _own(out[0], lib.convtgen_layer_destroy)

    @property
    def text(self):
        """The canonical form."""
        return text(lib.convtgen_layer_text(self.handle))

    def shape(self, sizes=None):
        """The extents of a call, as convtgen_shape has them: numbers under "batch", "in_channels", "out_channels",
        "x_elements", "weight_elements", "bias_elements", "y_elements" and "element_bytes", and under "in" and "out" lists
        of depth, height and width, 1 on an axis that the layer does not use.

        Args:
          sizes: of x: (batch, height, width), (batch, length) or (batch, depth, height, width); None: the layer's own.

        Raises:
          Error: a size that contradicts the layer, or gives no output.
        """
        out = ffi.new("convtgen_shape*")
        out.struct_size = ffi.sizeof("convtgen_shape")
        check(lib.convtgen_layer_shape(self.handle, _sizes(sizes, _axes_of(self.text)), out))
        fields = ffi.typeof("convtgen_shape").fields
        values = {name: getattr(out, name) for name, _ in fields if name != "struct_size"}
        return {name: list(value) if name in ("in", "out") else value for name, value in values.items()}

    def stream(self):
        """How a layer with `streaming` runs while its input arrives (convtgen_stream): numbers under "context", "stride",
        "delay" and "rest".

        Raises:
          Error: the layer has no `streaming`.
        """
        out = ffi.new("convtgen_stream*")
        out.struct_size = ffi.sizeof("convtgen_stream")
        check(lib.convtgen_layer_stream(self.handle, out))
        return {name: getattr(out, name) for name in ("context", "stride", "delay", "rest")}

    def __eq__(self, other):
        return isinstance(other, Layer) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __repr__(self):
        return f"Layer({self.text!r})"


class Device:
    """What kernels run on.

    Args:
      which: "cuda:N", "host" (the CPU, slowly, with every access checked), "host:sm_90a" (the same with the kernels of
        that architecture), or "auto". With CONVTGEN_ARCHITECTURE=sm_80 in the environment a GPU runs the kernels of that
        older chip, and "host" has their source.

    Raises:
      Error: NO_DEVICE where there is no such GPU or no driver; INVALID_ARGUMENT where CONVTGEN_ARCHITECTURE does not run
        there.
    """

    def __init__(self, which="auto"):
        out = ffi.new("convtgen_device**")
        check(lib.convtgen_device_open(which.encode(), out))
        self.handle = _own(out[0], lib.convtgen_device_close)

    @property
    def name(self):
        """"cuda:0 (NVIDIA H200, ...)"."""
        return text(lib.convtgen_device_name(self.handle))

    @property
    def is_host(self):
        """Whether arrays are in the host's memory."""
        return lib.convtgen_device_is_host(self.handle) != 0

    def prepare(self, layer, direction="forward"):
        """The layer's Kernel of one direction: from the store of compiled kernels, else compiled, which takes a second.

        Raises:
          Error: a direction that the layer lacks, no kernel for it, or no compiler (NVRTC; for the host g++).
        """
        out = ffi.new("convtgen_kernel**")
        check(lib.convtgen_prepare(self.handle, layer.handle, _direction(direction), out))
        return Kernel(out[0])

    def tune(self, layer, direction="forward", sizes=None, *, again=False, memory_limit=0, progress=None):
        """Measures the planner's best plans, and keeps their times in the store for all processes.

        Args:
          sizes: (batch, height, width), (batch, length) or (batch, depth, height, width); None: the layer's own.
          again: also what was measured before.
          memory_limit: bytes of the device that may be allocated; 0: what is free.
          progress: called with (text, fraction from 0 to 1) before each plan.

        Returns:
          Milliseconds of the fastest plan.
        """
        options = ffi.new("convtgen_tune_options*")
        options.struct_size = ffi.sizeof("convtgen_tune_options")
        options.again, options.memory_limit = int(again), memory_limit
        thrown = []
        user = ffi.new_handle((progress, thrown))
        if progress is not None:
            options.progress, options.user = lib.convtgen_py_progress, user
        out = ffi.new("double*")
        status = lib.convtgen_tune(self.handle, layer.handle, _direction(direction), _sizes(sizes, _axes_of(layer.text)), options, out)
        if thrown:
            raise thrown[0]
        check(status)
        return out[0]

    def __repr__(self):
        return f"Device({self.name!r})"


@ffi.def_extern()
def convtgen_py_progress(user, doing, fraction):
    """Calls the progress function of Device.tune; what it raises ends the tuning."""
    progress, thrown = ffi.from_handle(user)
    try:
        progress(text(doing), fraction)
    except BaseException as error:  # KeyboardInterrupt too: it goes on in tune()
        thrown.append(error)
        return 1
    return 0


class Kernel:
    """A layer's kernel of one direction, ready on a device. Device.prepare() makes it."""

    def __init__(self, handle):
        self._handle = _own(handle, lib.convtgen_kernel_destroy)
        self._axes = _axes_of(self.layer)
        self.number = int(ffi.cast("uintptr_t", handle))  # as launch() takes it

    def workspace(self, sizes=None):
        """(bytes, of these from the beginning those that hold packed weights) for calls of these sizes."""
        out, kept = ffi.new("size_t*"), ffi.new("size_t*")
        check(lib.convtgen_kernel_workspace(self._handle, _sizes(sizes, self._axes), out, kept))
        return out[0], kept[0]

    @property
    def keeps_weights(self):
        """Whether calls may leave the weights out, once an earlier one with the same workspace has packed them."""
        return bool(lib.convtgen_kernel_keeps_weights(self._handle))

    def launch(self, sizes, *, x=0, weight=0, bias=0, y=0, grad_y=0, grad_x=0, grad_weight=0, grad_bias=0, workspace=0,
               workspace_bytes=0, stream=0):
        """Launches on a stream: arrays by their addresses on the kernel's device, 0 where the direction takes none
        (convtgen_tensors says which shapes and what alignment they have).

        Args:
          sizes: of x: (batch, height, width), (batch, length) or (batch, depth, height, width).

        Raises:
          Error: sizes of another number of axes, or that contradict the layer; an array that lacks.
        """
        _check_sizes(sizes, self._axes)
        batch, depth, height, width = sizes[0], *[1] * (3 - self._axes), *sizes[1:]
        check(lib.convtgen_py_launch(self.number, x, weight, bias, y, grad_y, grad_x, grad_weight, grad_bias, workspace,
                                     workspace_bytes, batch, depth, height, width, stream))

    @property
    def source(self):
        """The CUDA source."""
        return text(lib.convtgen_kernel_source(self._handle))

    @property
    def plan(self):
        """Template, launch and parameters, one a line."""
        return text(lib.convtgen_kernel_plan(self._handle))

    @property
    def layer(self):
        """The canonical form of the layer with this direction alone."""
        return text(lib.convtgen_kernel_layer(self._handle))

    @property
    def architecture(self):
        """"sm_90a", or "host"."""
        return text(lib.convtgen_kernel_architecture(self._handle))
