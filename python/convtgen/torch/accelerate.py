"""accelerate(): one line that makes a model's transposed convolutions faster."""

import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

from ..core import Error
from . import classes, functional, settings, whole
from . import policy as policies
from .modules import _Convtgen


def _why_not(module):
    if isinstance(module, _Convtgen):  # accelerate() gives such a one its policy; a user's has that of its class
        return None if "policy" in vars(module) else "convtgen's already"
    if classes.base_of(type(module)) is None:
        return f"{type(module).__name__} has a forward of its own"
    return None


class Line:
    """A layer of a report.

    Attributes:
      name: the module's in its model.
      module: the module; None where it is gone.
      why_not: why it was left as it is; None where it was changed.
    """

    def __init__(self, name, module, why_not):
        self.name, self.why_not = name, why_not
        self._module = weakref.ref(module)

    @property
    def module(self):
        return self._module()

    def calls(self):
        """The calls.Call of each shape that the module has seen."""
        module = self.module
        return [] if module is None else list(functional.state_of(module).seen)

    def rows(self):
        """(layer, shape, what is asked, what runs, gain, why) as texts; one where nothing was seen."""
        module = self.module
        if self.why_not is not None and isinstance(module, _Convtgen):
            runs = {"always": "convtgen", "never": "torch"}.get(module.policy, "")
            return [(self.name, "", "", runs, "", f"{self.why_not}, policy {module.policy!r}")]
        if self.why_not is not None or module is None:
            return [(self.name, "", "", "torch", "", self.why_not or "the module is gone")]
        if module.policy == "never":
            return [(self.name, "", "all", "torch", "", "policy 'never'")]
        found = [(self.name, f"{'x'.join(map(str, shape))} {settings.DTYPES[dtype]}", "all", "torch", "", why)
                 for (shape, dtype), why in functional.state_of(module).refused.items()]
        for call in self.calls():
            shape = "x".join(map(str, call.x_shape)) + f" {settings.DTYPES[call.dtype]}"
            shape += " channels last" if call.channels_last else ""
            if module.policy == "always":
                for asked in policies.DIRECTIONS if call.refused else ("all",):
                    why = call.why_refused(asked)
                    found.append((self.name, shape, asked, "torch" if why else "convtgen", "", why or "policy 'always'"))
                continue
            choices = policies.chosen(call).choices
            if not choices:
                found.append((self.name, shape, "all", "torch", "", "not measured yet"))
            left = functional.state_of(module).left
            for asked, choice in choices.items():
                gain = "" if choice.gain is None else f"{choice.gain:.2f}"
                runs, why = ("torch", "the model gains nothing") if (call, asked) in left else (choice.runs, choice.why)
                found.append((self.name, shape, asked, runs, gain, why))
        return found or [(self.name, "", "", "", "", "no call yet")]


class Report:
    """What accelerate() did, and what runs since then: prints as a table, one line for each layer, shape, and what is asked of it.

    Attributes:
      lines: a Line for each transposed convolution of the model.
    """

    def __init__(self, lines):
        self.lines = lines

    def rows(self):
        """(layer, shape of x, what is asked, what runs, gain, why) as texts."""
        return [row for line in self.lines for row in line.rows()]

    def __str__(self):
        rows = [("layer", "input", "asked", "runs", "gain", "why"), *self.rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        return "\n".join("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows)

    __repr__ = __str__

    def undo(self):
        """Makes the modules torch's again."""
        for line in self.lines:
            if line.why_not is None and line.module is not None:
                undo(line.module)


def accelerate(model, *, filter_fn=None, policy="auto", compute=None):
    """Makes the transposed convolutions of a model convtgen's, in place.

    Modules stay the same objects, with their parameters, hooks and parametrizations; only their class changes, so state
    dicts, optimizers and copies go on as before. Lazy modules become convtgen's when they know their shapes. Subclasses
    that have a forward of their own stay as they are. A second call gives its policy and compute mode to the layers of
    the first.

    Args:
      model: a torch.nn.Module; itself may be a transposed convolution.
      filter_fn: called with (module, name); a layer for which it is false stays torch's. None: all.
      policy: "auto": for each layer, direction, type and size what was measured to be faster, convtgen's kernel or
        torch's operator (measured at the first call, some milliseconds, and kept for all processes of the user);
        "always": convtgen's; "never": torch's.
      compute: how float32 products are formed, as conv_transpose2d() has it.

    Returns:
      A Report, which prints as a table; report.undo() makes the modules torch's again.

    Raises:
      ValueError: `policy` or `compute` is no word of these.
      What filter_fn raises; the model is then as before.
    """
    policies.check_policy(policy)
    settings.check_compute(compute)
    lines, before = [], []
    try:
        for name, module in model.named_modules():
            if not isinstance(module, (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)):
                continue
            why_not = _why_not(module)
            if why_not is None and filter_fn is not None and not filter_fn(module, name):
                why_not = "left out by filter_fn"
            if why_not is None:
                before.append((module, type(module), {key: vars(module)[key] for key in _OURS if key in vars(module)}))
                why_not = _change(module, policy, compute)
            lines.append(Line(name, module, why_not))
    except BaseException:
        for module, cls, kept in before:
            _give_back(module, cls)
            vars(module).update(kept)
        raise
    return Report(lines)


_OURS = ("policy", "compute", "_convtgen")  # attributes of a module that accelerate() changed


def _change(module, policy, compute):
    """Makes a module convtgen's. Returns why that could not be; None where it is done."""
    if not isinstance(module, _Convtgen):
        try:
            module.__class__ = classes.accelerated(module)
        except Exception as error:  # of a metaclass, or of a class with __slots__
            return f"the class {type(module).__name__} can't be changed: {error}"
    vars(module).update(policy=policy, compute=compute)
    if "_convtgen" in vars(module):
        functional.state_of(module).torchs.clear()  # which the policy before found
    return None


def _give_back(module, cls):
    module.__class__ = cls
    for name in _OURS:
        vars(module).pop(name, None)


def undo(model):
    """Makes all transposed convolutions of a model torch's again. One whose class a user made of convtgen's keeps it, and
    gets the policy "never"."""
    for module in model.modules():
        if isinstance(module, _Convtgen):
            cls = classes.original(module)
            if cls is None:
                module.policy = "never"
            else:
                _give_back(module, cls)


def freeze(model, frozen=True):
    """Packs the weights of a model's convtgen modules once, at the next call without gradients, in place of each call.

    For inference with weights that stay as they are. A change that torch counts (an optimizer's step, load_state_dict) is
    seen; one that it does not (`weight.data.copy_`) is not, and needs freeze() again. Where gradients are recorded,
    weights are packed in each call as before.

    Args:
      frozen: False: in each call again.
    """
    for module in model.modules():
        if isinstance(module, _Convtgen):
            functional.state_of(module).freeze(frozen)


@contextmanager
def _unchanged(model):
    """What a run of a model changes is as before afterwards: its buffers (running statistics), and random numbers."""
    kept = [(buffer, buffer.clone()) for buffer in model.buffers()]
    devices = {tensor.device.index for tensor in model.parameters() if tensor.device.type == "cuda"}
    try:
        with torch.random.fork_rng(devices=sorted(devices)):
            yield
    finally:
        with torch.no_grad():
            for buffer, before in kept:
                buffer.copy_(before)


def _seen_in(model, example, keywords):
    with _unchanged(model), functional.collecting() as found, torch.no_grad():
        model(*example, **keywords)
    return found


def describe(model, *example, **keywords):
    """The transposed convolutions of model(*example) as layers in convtgen's language: the text of a `.convt` file.

    The model is run once, by torch's operators. Layers have the modules' names and the sizes of the example.
    """
    names = {module: name for name, module in model.named_modules()}
    texts, used = [], set()
    for owner, call, has_bias in _seen_in(model, example, keywords):
        name = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in names.get(owner, "")) or "layer"
        name = name if not name[0].isdigit() else f"_{name}"
        unique, number = name, 2
        while unique in used:
            unique, number = f"{name}_{number}", number + 1
        used.add(unique)
        body = call.layer_text(has_bias, call.sizes()).split("; ")
        texts.append("\n".join([f"layer {unique} {{", *(f"  {line}" for line in body), "}", ""]))
    return "\n".join(texts)


def prepare(model, *example, progress=True, threads=0, **keywords):
    """Compiles all kernels of model(*example), and with the policy "auto" measures what is faster, before training or
    serving begins. In training mode also those of the gradients.

    Each layer is measured alone, then the whole model with convtgen's kernels and without: where it is not faster with
    them, as a model that waits for its CPU, torch's operators serve all of it.

    Args:
      example: arguments of the model. It is run once by torch's operators; then, with the policy "auto", at least three
        times with convtgen's kernels and as often without (in training mode with its backward), for up to two seconds, or
        longer where a run is longer; but not in a process group of several ranks. Its parameters, their gradients, its
        buffers and random numbers stay as they are.
      progress: whether a bar is written to standard error.
      threads: that compile at once; 0: one a core, at most 16.

    Raises:
      Error: a kernel could not be compiled, and the policy is "always".
    """
    found = {(owner, call): has_bias for owner, call, has_bias in _seen_in(model, example, keywords)}
    training = model.training
    jobs = {}
    for (owner, call), has_bias in found.items():
        if owner is None or owner.policy != "never":
            jobs[call, "forward", has_bias] = owner
            if training:
                jobs[call, "grad_input", False] = owner
                jobs[call, "grad_weight", has_bias] = owner
    auto = [(owner, call) for owner, call in found if owner is not None and owner.policy == "auto"]
    bar = _Bar(len(jobs) + len(auto) + bool(auto), progress)

    def compile_one(job):
        (call, direction, has_bias), owner = job
        try:
            call.refuses(direction, has_bias)
        except Error:
            if owner is None or owner.policy == "always":
                raise
        bar.step(f"compiling {direction}")

    with ThreadPoolExecutor(threads or min(16, torch.get_num_threads())) as pool:
        list(pool.map(compile_one, jobs.items()))
    served = []
    with policies.forced():
        for owner, call in auto:
            asked = "training" if training else functional.asked_of(owner)
            if policies.chosen(call).serves(asked, found[owner, call]) is not None:
                served.append((functional.state_of(owner), call, asked))
            bar.step("measuring")
    if auto:
        # DDP waits for gradients of parameters, which a measured step does not add up.
        alone = model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model
        with _unchanged(model):
            whole.settle(alone, served, lambda: whole.run_once(alone, example, keywords, training))
        bar.step("measuring the model")
    bar.done()


class _Bar:
    """Progress on standard error."""

    def __init__(self, count, shown):
        self._count, self._done, self._shown = count, 0, shown and count > 0

    def step(self, what):
        self._done += 1
        if self._shown:
            filled = 30 * self._done // self._count
            sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {self._done}/{self._count} {what:<24}")
            sys.stderr.flush()

    def done(self):
        if self._shown:
            sys.stderr.write("\n")
