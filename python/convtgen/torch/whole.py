"""Whether a model as a whole is faster by convtgen's kernels: prepare() measures it, and the answer is kept.

Choices of layers (policy.py) go by the layers' own times. A model that waits for its CPU does not end earlier because its
GPU does, and CPU time that our calls take beyond torch's shows there. Whether a model waits cannot be known where a layer
is measured.
"""

import hashlib
import time
import warnings

import torch
from torch.utils import _pytree

from . import policy

_MARGIN = 0.99  # convtgen's kernels stay where the model takes at most this part of the time without them
_ROUNDS, _ROUND_SECONDS, _MOST_RUNS = 7, 20e-3, 20
_SECONDS = 2.0  # that all rounds may take; one of a slow model may take longer


def run_once(model, example, keywords, is_step):
    """Runs a model as training or serving does. A step is forward and backward, without an optimizer; gradients of
    parameters stay as they are. False where a step has nothing to differentiate."""
    torch.clear_autocast_cache()  # as where the context is entered for each step
    if not is_step:
        with torch.no_grad():
            model(*example, **keywords)
        return True
    with torch.enable_grad():
        parameters = [each for each in model.parameters() if each.requires_grad]
        results = _pytree.tree_leaves(model(*example, **keywords))
        results = [each for each in results if isinstance(each, torch.Tensor) and each.requires_grad]
        if not parameters or not results:
            return False
        torch.autograd.grad(results, parameters, [torch.ones_like(each) for each in results], allow_unused=True)
    return True


def _synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _round(run, count, device):
    """Seconds of a run, of `count` one after another."""
    _synchronize(device)
    begin = time.perf_counter()
    for _ in range(count):
        run()
    _synchronize(device)
    return (time.perf_counter() - begin) / count


def _seconds(runs, device):
    """The least seconds of each run over rounds in which they take turns; None where there is nothing to run."""
    if not all(run() for run in runs):
        return None
    if device.type == "cpu":
        return [_round(run, 1, device) for run in runs]
    once = [_round(run, 1, device) for run in runs]  # in the runs before cuDNN has found its algorithms
    counts = [min(_MOST_RUNS, int(_ROUND_SECONDS / seconds) + 1) for seconds in once]
    both = sum(count * seconds for count, seconds in zip(counts, once))
    rounds = [[_round(run, count, device) for run, count in zip(runs, counts)]
              for _ in range(max(1, min(_ROUNDS, int(_SECONDS / both))))]
    return list(map(min, zip(*rounds)))


def _leave(served, is_left):
    for state, call, asked in served:
        state.leave(call, asked, is_left)


def _measure(served, run, device):
    def by(is_left):
        def switched():
            _leave(served, is_left)
            return run()
        return switched

    try:
        found = _seconds((by(False), by(True)), device)
    except torch.OutOfMemoryError:
        return None
    except (RuntimeError, NotImplementedError) as error:
        warnings.warn(f"convtgen: prepare() could not measure the whole model, so choices are of its layers alone: {error}",
                      stacklevel=3)
        return None
    finally:
        _leave(served, False)
    if found is None:
        return None
    ours, torchs_own = found
    return policy.Choice("convtgen" if ours <= _MARGIN * torchs_own else "torch", policy.WHOLE, ours * 1e3, torchs_own * 1e3)


def settle(model, served, run):
    """Measures a model with convtgen's kernels and without them, and leaves all its layers to torch where it is not
    faster with them.

    In a process group of several ranks nothing is measured, since a rank that knows the answer would not take part in
    what others run together; an answer that is there is used.

    Args:
      model: as it will run, on one device.
      served: (functional.State, Call, what is asked) of each layer that convtgen serves.
      run: runs the model once, and returns whether there was something to run.

    Returns:
      A policy.Choice, or None where there is none.
    """
    _leave(served, False)
    if not served:
        return None
    device = served[0][1].device
    layers = sorted(f"{call.bucket_text()}; {asked}" for _, call, asked in served)
    digest = hashlib.sha256("\n".join([repr(model), *layers]).encode()).hexdigest()
    key = policy.key_of(f"model {digest}", device)
    choice = policy.Choice.of(policy.kept_choice(key))
    if choice is None and not policy.has_ranks():
        choice = _measure(served, run, device)
        if choice is not None:
            choice = policy.Choice.of(policy.kept_choice(key, choice.text())) or choice
    _leave(served, choice is not None and choice.runs == "torch")
    return choice
