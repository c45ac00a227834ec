"""Which of both runs, convtgen's kernel or torch's own operator: measured once, and kept.

A choice is of a layer, of what is asked of it (a direction, the forward direction with frozen weights, or a whole step of
training), a mode, a chip and a bucket of sizes (each rounded up to a power of two). It is kept in the store of compiled
kernels, so all processes and ranks of a user that share the store choose alike.
"""

import json
import os
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch

from ..core import Error, version
from ..core import choice as kept_choice
from . import gradients, torchs

POLICIES = ("auto", "always", "never")
WHOLE = "the whole model measured"  # Choice.why of whole.py
DIRECTIONS = ("forward", "grad_input", "grad_weight")
_MARGIN = 0.97  # a kernel is chosen where it takes less than this part of torch's time
# A model waits for its CPU as often as for its GPU. So CPU time beyond torch's counts as time. And so do these seconds:
# a loop finds its code in the caches, a model that runs other operators in between does not, and Python's is larger.
_COLD_SECONDS = {"training": 20e-6}
_COLD_SECONDS_OF_A_DIRECTION = 4e-6
_ROUNDS, _ROUND_SECONDS, _MOST_CALLS = 7, 1e-3, 20
_MEMORY = 4  # times the tensors of a call must be free to measure it
_PATIENCE = 100  # calls after which a choice that could be neither measured nor found is looked for again

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


def has_ranks():
    """Whether this process is one of several in a process group."""
    return torch.distributed.is_available() and torch.distributed.is_initialized() and \
        torch.distributed.get_world_size() > 1


def _may_measure(call):
    if call.device.type != "cuda":
        return True
    if torch.cuda.is_current_stream_capturing() or torch.compiler.is_compiling():
        return False
    if not getattr(_measuring, "forced", False) and has_ranks():
        return False
    free = torch.cuda.mem_get_info(call.device)[0]
    free += torch.cuda.memory_reserved(call.device) - torch.cuda.memory_allocated(call.device)
    return free > _MEMORY * call.bytes()


def _shipped_choices():
    global _shipped
    if _shipped is None:
        file = Path(__file__).parent / "choices.json"
        _shipped = json.loads(file.read_text()) if file.exists() else {}
    return _shipped


def _chip(device):
    """The chip whose times choices are of: a GPU that runs an older chip's kernels is a different one."""
    older = os.environ.get("CONVTGEN_ARCHITECTURE", "")
    if device.type == "cpu":
        name = "host"
    else:
        name = torch.cuda.get_device_name(device)
        own = "sm_{}{}".format(*torch.cuda.get_device_capability(device))
        older = "" if older in (own, f"{own}a") else older
    return f"{name} as {older}" if older else name


def key_of(what, device):
    """What the store keeps a choice under."""
    return (f"convtgen.torch: {what}\n{_chip(device)}\n"
            f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, convtgen {version()}")


class Choice:
    """What runs a direction of a call, and why.

    Attributes:
      runs: "convtgen" or "torch".
      convtgen_ms, torch_ms: what both took; None where they were not measured.
      why: "measured", WHOLE, "shipped", or why torch serves without a measurement.
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


def _round(function, count, stream):
    """(the device's seconds of a call, of `count` one after another; the host's seconds of the first one). The first one
    finds caches and threads as a model's other operators leave them, more than those after it do: on an H100 FSRCNN's
    step in bf16 took 34 us more than torch's in a loop, and 200 us more after a wait."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream.synchronize()
    begin.record(stream)
    host = time.perf_counter()
    function()
    host = time.perf_counter() - host
    for _ in range(count - 1):
        function()
    end.record(stream)
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / count, host


def _seconds(functions, device):
    """For each function (the device's seconds, the host's seconds) of a call. The functions take turns, and the least of
    their rounds counts: what else the machine does makes a round longer, never shorter."""
    if device.type == "cpu":
        times = []
        for function in functions:
            begin = time.perf_counter()
            function()
            times.append((time.perf_counter() - begin, 0.0))
        return times
    stream = torch.cuda.current_stream(device)
    counts = []
    for function in functions:
        for _ in range(3):  # compiles, and lets cuDNN find its algorithm
            function()
        once = max(_round(function, 1, stream)[0], 1e-6)
        counts.append(min(_MOST_CALLS, int(_ROUND_SECONDS / once) + 1))
    rounds = [[_round(function, count, stream) for function, count in zip(functions, counts)] for _ in range(_ROUNDS)]
    return [tuple(map(min, zip(*of_one))) for of_one in zip(*rounds)]


class _Measuring:
    """Measures a call on random tensors, which are made when they are asked for."""

    def __init__(self, call, has_bias):
        self._call, self._has_bias, self._tensors = call, has_bias, None

    def seconds(self, asked, server):
        """(convtgen's, torch's) of what is asked; `server` serves a step of training. An Error where there is no kernel:
        a Call would leave that to torch's operator, and its time would say nothing."""
        if asked != "training":  # whose directions were measured before
            direction = "forward" if asked == "frozen" else asked
            self._call.kernel(direction, self._has_bias and direction != "grad_input")
        if self._tensors is None:
            random = torch.Generator(self._call.device).manual_seed(0)  # so that the caller's own numbers stay as they are
            with torch.no_grad():
                self._tensors = [self._call.empty(role).normal_(generator=random) for role in ("x", "weight", "y", "bias")]
        with torch.autocast(self._call.device.type, enabled=False), torch.set_grad_enabled(asked == "training"):
            both = getattr(self, f"_{asked}")(self._call, server, *self._tensors[:3],
                                              self._tensors[3] if self._has_bias else None)
            (own, own_host), (theirs, their_host) = _seconds(both, self._call.device)
        return own + max(0.0, own_host - their_host) + _COLD_SECONDS.get(asked, _COLD_SECONDS_OF_A_DIRECTION), theirs

    @staticmethod
    def _forward(call, server, x, weight, y, bias):
        return lambda: call.forward(x, weight, bias), lambda: torchs.forward(x, weight, bias, call.parameters)

    @staticmethod
    def _frozen(call, server, x, weight, y, bias):
        memory = call.pack(weight, bias is not None)
        return (lambda: call.forward(x, weight, bias, memory),
                lambda: torchs.forward(x, weight, bias, call.parameters))

    @staticmethod
    def _gradient(call, wanted, x, weight, y):
        return lambda: call.gradients(y, x, weight, wanted), lambda: torchs.gradients(y, x, weight, call.parameters, wanted)

    @staticmethod
    def _grad_input(call, server, x, weight, y, bias):
        return _Measuring._gradient(call, (True, False, False), x, weight, y)

    @staticmethod
    def _grad_weight(call, server, x, weight, y, bias):
        return _Measuring._gradient(call, (False, True, bias is not None), x, weight, y)

    @staticmethod
    def _training(call, server, x, weight, y, bias):
        leaves = [None if each is None else each.detach().requires_grad_() for each in (x, weight, bias)]
        wanted = [each for each in leaves if each is not None]

        def ours():
            torch.autograd.grad(gradients.apply_forward(*leaves, server), wanted, y)

        def torchs_own():
            torch.autograd.grad(torchs.forward(*leaves, call.parameters), wanted, y)

        return ours, torchs_own


class Chosen:
    """A call with a choice for each thing that is asked of it."""

    def __init__(self, call):
        self.call = call
        self.choices = {}  # by what is asked; those that last
        self._serving = {}
        self._patience = 0

    def serves(self, asked, has_bias):
        """What serves "forward", "frozen" (weights that are packed) or "training": the Call, a Mixed where directions
        differ, or None for torch's operator."""
        try:
            return self._serving[asked]
        except KeyError:
            return self._settle(asked, has_bias)

    def is_settled(self, asked):
        """Whether what serves() says stays so."""
        return asked in self._serving

    def _settle(self, asked, has_bias):
        if self._patience > 0 and not _may_measure(self.call):
            self._patience -= 1
            return None
        measuring = _Measuring(self.call, has_bias)
        parts = DIRECTIONS if asked == "training" else (asked,)
        server = _server_of([self._choice(part, measuring) for part in parts], self.call, self.call.parameters)
        if asked == "training" and server is not None:
            parts = (*parts, asked)
            server = server if self._choice(asked, measuring, server).runs == "convtgen" else None
        if all(part in self.choices for part in parts):
            self._serving[asked] = server
        else:
            self._patience = _PATIENCE
        return server

    def _choice(self, asked, measuring, server=None):
        found = self.choices.get(asked)
        if found is None:
            found, lasts = self._choose(asked, lambda: measuring.seconds(asked, server))
            if lasts:
                self.choices[asked] = found
        return found

    def looked_up(self, asked):
        """The Choice that was made before, by whomever; None where there is none."""
        if asked not in self.choices:
            if self._patience > 0:
                self._patience -= 1
                return None
            found, lasts = self._choose(asked, None)
            if not lasts:
                self._patience = _PATIENCE
                return None
            self.choices[asked] = found
        return self.choices[asked]

    def _choose(self, asked, measure):
        layer = f"{self.call.bucket_text()}; {asked}"
        key = key_of(layer, self.call.device)
        kept = Choice.of(kept_choice(key))
        if kept is not None:
            return kept, True
        shipped = _shipped_choices().get(_chip(self.call.device), {}).get(layer)
        if shipped is not None:
            return Choice(shipped["runs"], "shipped", shipped["convtgen_ms"], shipped["torch_ms"]), True
        if measure is None or not _may_measure(self.call):
            return Choice("torch", "not measured yet"), False
        try:
            ours, torchs_own = measure()
        except Error as error:
            warnings.warn(f"convtgen: torch's operator serves {layer}: {error}", stacklevel=2)
            return Choice("torch", str(error).splitlines()[0]), True
        except torch.OutOfMemoryError:
            return Choice("torch", "too little memory to measure"), False
        choice = Choice("convtgen" if ours < _MARGIN * torchs_own else "torch", "measured", ours * 1e3, torchs_own * 1e3)
        return Choice.of(kept_choice(key, choice.text())) or choice, True


class Mixed:
    """A call of which convtgen serves some directions and torch others: it has the methods of Call that gradients.py
    calls.

    Args:
      call: serves convtgen's.
      parameters: Parameters of the layer.
      own: for each direction whether it is convtgen's.
    """

    def __init__(self, call, parameters, own):
        self._call, self._parameters, self._own = call, parameters, own

    def forward(self, x, weight, bias):
        """Call.forward() or torch's."""
        if self._own[0]:
            return self._call.forward(x, weight, bias)
        return torchs.forward(x, weight, bias, self._parameters)

    def gradients(self, grad_y, x, weight, wanted):
        """Call.gradients() or torch's, or one of each."""
        ours = self._own[1], self._own[2], self._own[2]
        own = [want and is_own for want, is_own in zip(wanted, ours)]
        theirs = [want and not is_own for want, is_own in zip(wanted, ours)]
        of_own = self._call.gradients(grad_y, x, weight, own) if any(own) else (None,) * 3
        of_theirs = torchs.gradients(grad_y, x, weight, self._parameters, theirs) if any(theirs) else (None,) * 3
        return tuple(one if one is not None else other for one, other in zip(of_own, of_theirs))


def _server_of(choices, call, parameters):
    """The call where all choices are convtgen's, None where all are torch's, else both."""
    own = [choice.runs == "convtgen" for choice in choices]
    return call if all(own) else Mixed(call, parameters, own) if any(own) else None


def chosen(call):
    """The Chosen of a Call."""
    if call.chosen is None:
        call.chosen = Chosen(call)
    return call.chosen


def known(call, asked, own):
    """What serves a call by the choices that were made before, for compiled models: `own` where they are convtgen's, a
    Mixed of it, or None for torch's operator."""
    found = [chosen(call).looked_up(part) for part in (DIRECTIONS if asked == "training" else (asked,))]
    if None in found or (asked == "training" and not _is_step_ours(call)):
        return None
    return _server_of(found, own, call.parameters)


def is_known_to_be_faster(call, direction):
    """The same for one direction."""
    found = chosen(call).looked_up(direction)
    return found is not None and found.runs == "convtgen" and (direction == "forward" or _is_step_ours(call))


def _is_step_ours(call):
    # Where all directions are torch's there is no choice for the step.
    step = chosen(call).looked_up("training")
    return step is None or step.runs == "convtgen"
