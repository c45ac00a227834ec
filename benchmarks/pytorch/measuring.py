"""What the benchmarks of convtgen.torch share: modes, training steps, distances of results, times."""

import contextlib
import copy
import json
import math
import statistics

import torch
from torch import nn

import models  # also makes the examples importable
from comparison import alternating_ms, device_name  # noqa: F401

#: Modes by name: (type of the model, whether channels last, whether under bf16 autocast).
MODES = {"tf32": (torch.float32, False, False), "f16": (torch.float16, True, False), "bf16": (torch.float32, False, True)}
#: Relative L2 distance of results from torch's that is fine in any case.
BOUNDS = {"output": {"tf32": 2e-3, "f16": 5e-3, "bf16": 2e-2},
          # A ReLU whose input is rounded to the other side of zero changes a gradient by a whole term. Where roundings
          # change a part p of the masks, gradients differ by about sqrt(p).
          "gradients": {"tf32": 3e-2, "f16": 5e-2, "bf16": 1e-1}}
#: So many times torch's own distance from strict fp32 are fine too: deep models amplify each rounding, of both alike.
AMPLIFIED = 2.5


def set_switches():
    """tf32 where the model has float32, and cuDNN's fastest algorithm."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_tf32 = True


@contextlib.contextmanager
def strict():
    """In which torch computes in strict fp32, with cuDNN's first algorithm."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32
    cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32 = False, False, False
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32 = before


def autocast(mode, device):
    """A context in which the models of a mode are called."""
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=MODES[mode][2])


def build(name, kind, mode, small, device):
    """(the model, its inputs) in the type and format of a mode."""
    torch.manual_seed(0)
    dtype, is_channels_last, _ = MODES[mode]
    model = models.build(name, kind, small, device).to(dtype)
    inputs = [each.to(dtype) for each in models.inputs(name, kind, small, device)]
    if is_channels_last:
        model = model.to(memory_format=torch.channels_last)
        inputs = [each.to(memory_format=torch.channels_last) if each.dim() == 4 else each for each in inputs]
    return model, inputs


def loss_of(y):
    """A loss whose gradients are about 1 in each weight, so that float16 holds them."""
    weights = torch.linspace(-1, 1, y.shape[-1], device=y.device)
    return (y.float() * weights).sum() / math.sqrt(y.numel())


def caller(model, inputs, mode, kind):
    """A function that runs the model once: without gradients, or a step of training."""
    device = inputs[0].device
    if kind == "inference":

        def infer():
            with torch.no_grad(), autocast(mode, device):
                return model(*inputs)

        return infer
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    def step():
        optimizer.zero_grad()
        with autocast(mode, device):
            loss = loss_of(model(*inputs))
        loss.backward()
        optimizer.step()

    return step


@contextlib.contextmanager
def _without_dropout(model):
    dropouts = [module for module in model.modules() if isinstance(module, nn.Dropout) and module.training]
    for module in dropouts:
        module.eval()
    yield
    for module in dropouts:
        module.train()


def results(model, inputs, mode, kind):
    """{"output": ...}, for "training" also {"gradients": ...}, as vectors of float32; dropout is off. The
    model's running statistics stay as they are."""
    buffers = [buffer.clone() for buffer in model.buffers()]
    with _without_dropout(model), torch.set_grad_enabled(kind == "training"):
        with autocast(mode, inputs[0].device):
            y = model(*inputs)
        found = {"output": y.detach().float().flatten()}
        if kind == "training":
            gradients = torch.autograd.grad(loss_of(y), list(model.parameters()))
            found["gradients"] = torch.cat([each.float().flatten() for each in gradients])
    with torch.no_grad():
        for buffer, value in zip(model.buffers(), buffers):
            buffer.copy_(value)
    return found


def strict_results(model, inputs, kind):
    """results() of a copy of the model in strict fp32."""
    exact = copy.deepcopy(model).float()
    with strict():
        return results(exact, [each.float() for each in inputs], "tf32", kind)


def distance(value, reference):
    """Relative L2 distance; infinite where a value is no number."""
    value, reference = value.detach(), reference.detach()
    norm = float(torch.linalg.vector_norm(reference))
    found = float(torch.linalg.vector_norm(value - reference)) / (norm or 1.0)
    return found if math.isfinite(found) else math.inf


def compare(theirs, ours, exact, mode):
    """{"output": {distance, bound, torch_error, convtgen_error, right}, ...} of results()."""
    found = {}
    for name, reference in exact.items():
        torchs = distance(theirs[name], reference)
        bound = max(BOUNDS[name][mode], AMPLIFIED * torchs)
        away = distance(ours[name], theirs[name])
        found[name] = {"distance": away, "bound": bound, "torch_error": torchs,
                       "convtgen_error": distance(ours[name], reference), "right": math.isfinite(away) and away <= bound}
    return found


def geometric_mean(values):
    """NaN of none."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def head(name, options, words):
    """What each file of results begins with."""
    return {"gpu": device_name(options.device), "pytorch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
            "commit": options.commit, "command": [name, *words]}


def common_options(parser):
    """Options that all benchmarks have."""
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--small", action="store_true", help="tiny sizes, for tests")
    parser.add_argument("--commit", default="", help="goes into the JSON file")
    parser.add_argument("--json", help="where the numbers go")
    return parser


def write_json(path, content):
    """Writes results."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
