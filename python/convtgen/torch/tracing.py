"""What torch.fx and torch.jit.script see of a module of convtgen."""

import sys
import warnings

from torch.nn.modules import module as modules


def _is_quantizing():
    # prepare_fx() has a tracer of its own, fuse_fx() has torch.fx's; so their callers tell.
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("torch.ao.quantization."):
            return True
        frame = frame.f_back
    return False


def _path_of(tracer, module):
    """A module's name in what is traced; "" for all of it, and where a tracer knows no names."""
    try:
        return tracer.path_of_module(module)
    except (AttributeError, NameError):
        return ""


def module_call(module, input, output_size):
    """A torch.fx.Proxy for a call of the module, so that its policy, packed weights and report hold for the graph too. None
    where the graph needs the operator instead: hooks of the module are traced already, and the root is no node."""
    if _is_quantizing():
        warnings.warn("convtgen: torch.ao.quantization (fuse_fx, prepare_fx) leaves an accelerated layer as it is; "
                      "convtgen.torch.undo(model) before it makes the layer torch's", stacklevel=3)
    hooks = (module._forward_hooks, module._forward_pre_hooks, modules._global_forward_hooks,
             modules._global_forward_pre_hooks)
    path = "" if any(hooks) else _path_of(input.tracer, module)
    arguments = (input,) if output_size is None else (input, output_size)
    return input.tracer.create_proxy("call_module", path, arguments, {}) if path else None


def refuse_script(module):
    """Raises RuntimeError."""
    raise RuntimeError(f"convtgen: torch.jit.script can't compile an accelerated {type(module).__name__}; legal are "
                       "torch.compile, torch.export and torch.jit.trace, or convtgen.torch.undo(model) before it")
