"""Which of both runs, convtgen's kernel or torch's own operator: measured once, and kept.

A choice is of a layer, a direction, a mode, a chip and a bucket of sizes (each rounded up to a power of two). It is kept
in the store of compiled kernels, so all processes and ranks of a user that share the store choose alike.
"""

import json
import statistics
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch

from ..core import Error, version
from ..core import choice as kept_choice
from . import torchs

POLICIES = ("auto", "always", "never")
_DIRECTIONS = ("forward", "grad_input", "grad_weight")
_MARGIN = 0.98  # a kernel is chosen where it takes less than this part of torch's time
_ROUNDS, _ROUND_SECONDS, _MOST_CALLS = 5, 1e-3, 20
_MEMORY = 4  # times the tensors of a call must be free to measure it

_measuring = threading.local()  # .forced: in prepare(), measuring is wanted
_shipped = None


def check_policy(policy):
    """Raises ValueError for another word."""
    if policy not in POLICIES:
        raise ValueError(f"policy is {policy!r}; legal are {', '.join(map(repr, POLICIES))}")


@contextmanager
def forced():
    """Measures in this thread also in a group of several processes: prepare() runs before their steps."""
    before = getattr(_measuring, "forced", False)
    _measuring.forced = True
    try:
        yield
    finally:
        _measuring.forced = before


def _may_measure(call):
    if call.device.type != "cuda":
        return True
    if torch.cuda.is_current_stream_capturing() or torch.compiler.is_compiling():
        return False
    if not getattr(_measuring, "forced", False) and torch.distributed.is_available() and \
            torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1:
        return False
    free = torch.cuda.mem_get_info(call.device)[0]
    free += torch.cuda.memory_reserved(call.device) - torch.cuda.memory_allocated(call.device)
    return free > _MEMORY * call.bytes()


def _bucket(extent):
    return 1 << max(extent - 1, 0).bit_length()


def _shipped_choices():
    global _shipped
    if _shipped is None:
        file = Path(__file__).parent / "choices.json"
        _shipped = json.loads(file.read_text()) if file.exists() else {}
    return _shipped


def _chip(device):
    return "host" if device.type == "cpu" else torch.cuda.get_device_name(device)


class Choice:
    """What runs a direction of a call, and why.

    Attributes:
      runs: "convtgen" or "torch".
      convtgen_ms, torch_ms: what both took; None where they were not measured.
      why: "measured", "shipped", or why torch serves without a measurement.
    """

    def __init__(self, runs, why, convtgen_ms=None, torch_ms=None):
        self.runs, self.why, self.convtgen_ms, self.torch_ms = runs, why, convtgen_ms, torch_ms

    @property
    def gain(self):
        """torch's time over convtgen's; None where they were not measured."""
        return self.torch_ms / self.convtgen_ms if self.convtgen_ms else None

    def text(self):
        """As the store keeps it."""
        return json.dumps({"runs": self.runs, "why": self.why, "convtgen_ms": self.convtgen_ms, "torch_ms": self.torch_ms})

    @staticmethod
    def of(text):
        """From the store; None for a text that is none."""
        try:
            found = json.loads(text)
            return Choice(found["runs"], found["why"], found["convtgen_ms"], found["torch_ms"])
        except (ValueError, KeyError, TypeError):
            return None

    def __repr__(self):
        return f"Choice(runs={self.runs!r}, why={self.why!r}, gain={self.gain})"


def _seconds(function, device):
    """Of one call, of several one after another: what a model sees of it, the launch too."""
    if device.type == "cpu":
        begin = time.perf_counter()
        function()
        return time.perf_counter() - begin
    for _ in range(3):  # compiles, and lets cuDNN find its algorithm
        function()
    stream = torch.cuda.current_stream(device)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    count, times = 1, []
    while len(times) < _ROUNDS:
        stream.synchronize()
        begin.record(stream)
        for _ in range(count):
            function()
        end.record(stream)
        end.synchronize()
        seconds = begin.elapsed_time(end) * 1e-3
        if count == 1 and not times and seconds < _ROUND_SECONDS:
            count = min(_MOST_CALLS, int(_ROUND_SECONDS / max(seconds, 1e-6)) + 1)
            if count > 1:
                continue
        times.append(seconds / count)
    return statistics.median(times)


class Chosen:
    """A call with a choice for each direction. It has the methods of Call that gradients.py calls."""

    def __init__(self, call):
        self.call = call
        self.choices = {}  # of the directions that are chosen

    def _key(self, direction):
        sizes = tuple(map(_bucket, self.call.sizes()))
        return f"{self.call.layer_text(False, sizes)}; {direction}"

    def choice(self, direction, measure=None):
        """The Choice of a direction; `measure` is a function that gives both times in seconds, or None to look up alone."""
        found = self.choices.get(direction)
        if found is None:
            found, lasts = self._choose(direction, measure)
            if lasts:
                self.choices[direction] = found
        return found

    def _choose(self, direction, measure):
        layer, chip = self._key(direction), _chip(self.call.device)
        key = f"convtgen.torch: {layer}\n{chip}\ntorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, convtgen {version()}"
        kept = Choice.of(kept_choice(key))
        if kept is not None:
            return kept, True
        shipped = _shipped_choices().get(chip, {}).get(layer)
        if shipped is not None:
            return Choice(shipped["runs"], "shipped", shipped["convtgen_ms"], shipped["torch_ms"]), True
        if measure is None or not _may_measure(self.call):
            return Choice("torch", "not measured yet"), False
        try:
            ours, torchs = measure()
        except Error as error:
            warnings.warn(f"convtgen: torch's operator serves {layer}: {error}", stacklevel=2)
            return Choice("torch", str(error).splitlines()[0]), True
        choice = Choice("convtgen" if ours < _MARGIN * torchs else "torch", "measured", ours * 1e3, torchs * 1e3)
        return Choice.of(kept_choice(key, choice.text())) or choice, True


    def is_torchs(self, wants_x, wants_weight):
        """Whether torch's operator is known to serve the forward direction, and the gradients that are wanted."""
        return all(direction in self.choices and self.choices[direction].runs == "torch"
                   for direction, wanted in zip(_DIRECTIONS, (True, wants_x, wants_weight)) if wanted)

    def _pick(self, direction, ours, torchs):
        def measure():
            with torch.no_grad():
                return _seconds(ours, self.call.device), _seconds(torchs, self.call.device)

        return ours() if self.choice(direction, measure).runs == "convtgen" else torchs()

    def forward(self, x, weight, bias, packed=None):
        """Call.forward() or torch's."""
        return self._pick("forward", lambda: self.call.forward(x, weight, bias, packed),
                          lambda: torchs.forward(x, weight, bias, self.call.parameters))

    def grad_input(self, grad_y, weight):
        """Call.grad_input() or torch's."""
        return self._pick("grad_input", lambda: self.call.grad_input(grad_y, weight),
                          lambda: torchs.grad_input(grad_y, weight, self.call.empty("x"), self.call.parameters))

    def grad_weight(self, grad_y, x, with_bias):
        """Call.grad_weight() or torch's."""
        return self._pick("grad_weight", lambda: self.call.grad_weight(grad_y, x, with_bias),
                          lambda: torchs.grad_weight(grad_y, x, self.call.empty("weight"), self.call.parameters, with_bias))

    def measure(self, training, has_bias):
        """Chooses all directions, or without `training` the forward one alone, on random tensors."""
        call = self.call
        with torch.no_grad():
            random = torch.Generator(call.device).manual_seed(0)  # so that the caller's own numbers stay as they are
            x, weight, bias = (call.empty(role).normal_(generator=random) for role in ("x", "weight", "bias"))
            y = self.forward(x, weight, bias if has_bias else None)
            if training:
                self.grad_input(y, weight)
                self.grad_weight(y, x, has_bias)


class _LookedUp(Chosen):
    """Chosen by what was measured before alone."""

    def __init__(self, call):
        super().__init__(call)
        self.choices = chosen(call).choices

    def choice(self, direction, measure=None):
        return super().choice(direction)


def chosen(call, may_measure=True):
    """The Chosen of a Call."""
    if not may_measure:
        return _LookedUp(call)
    if call.chosen is None:
        call.chosen = Chosen(call)
    return call.chosen
