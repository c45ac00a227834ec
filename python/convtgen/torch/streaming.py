"""StreamingConvTranspose1d: a ConvTranspose1d whose input arrives by chunks."""

import torch

from ..core import Layer
from . import calls, geometry, settings

_MOST_LENGTHS = 16  # of chunks whose Calls are kept


class _Call(calls.Call):
    """A call of the one kernel that all chunks of a layer have: of open sizes, with `streaming`."""

    def layer(self, has_bias):
        return Layer(self.layer_text(has_bias, also="streaming"))

    def refuses(self, direction, has_bias):
        self.kernel(direction, has_bias)  # torch's operator would give other bits, so what is refused is an error
        return False


class StreamingConvTranspose1d(torch.nn.Module):
    """Runs a torch.nn.ConvTranspose1d while its input arrives: forward(chunk) returns the outputs that are final after
    it, flush() the rest. Together they have the bits that whole() gives for all chunks at once.

    All of these are calls of one kernel, which the first one compiles. Between them only the last frames of the input
    are kept, and the weights as the kernel reads them, packed once for a sequence. There are no gradients. The parameters
    are the module's own; they must not change within a sequence.

    Args:
      module: torch.nn.ConvTranspose1d, or one of its subclasses whose forward is the same.
      compute: as conv_transpose1d() has it.

    Raises:
      TypeError: another module.
      ValueError: `compute` is no mode; the module has hooks, which would not be called.
    """

    def __init__(self, module, *, compute=None):
        super().__init__()
        settings.check_compute(compute)
        if not isinstance(module, torch.nn.ConvTranspose1d):
            raise TypeError(f"module is a {type(module).__name__}; legal is ConvTranspose1d")
        if module._forward_pre_hooks or module._forward_hooks:
            raise ValueError("module has hooks, which would not be called; remove them, as remove_weight_norm() does")
        self.module, self.compute = module, compute
        self._calls = {}
        self.reset()

    def reset(self):
        """Forgets the frames that came: the next chunk begins a sequence."""
        self._kept = None  # the last frames
        self._frames = 0  # that came
        self._mode = self._facts = None  # the compute mode of the sequence; Layer.stream()
        self._packed = None  # [a workspace with the packed weights, or None], once there was a call
        self._calls.clear()

    @torch.no_grad()
    def forward(self, chunk):
        """(batch, in_channels, frames), of any number of frames, to (batch, out_channels, outputs), maybe none."""
        if self._kept is None:
            self._check(chunk)
            self._mode = settings.compute_mode(chunk.dtype, self.compute)
            self._facts = self._call(chunk, self._mode).layer(self.module.bias is not None).stream()
            self._kept = chunk[:, :, :0]
        self._check(chunk)
        x = torch.cat((self._kept, chunk), 2)
        y = self._outputs(x, self._final(self._frames + chunk.shape[2]))
        self._frames += chunk.shape[2]
        self._kept = x[:, :, max(0, x.shape[2] - self._facts["context"]):].clone()
        return y

    @torch.no_grad()
    def flush(self):
        """The outputs that are left once no more frames come; then it begins anew.

        Raises:
          RuntimeError: there was no chunk.
        """
        if self._kept is None:
            raise RuntimeError("flush() without a chunk before it")
        rest = self._facts["rest"] if self._frames else 0
        y = self._outputs(self._kept, self._frames * self._facts["stride"] - self._facts["delay"] + rest)
        self.reset()
        return y

    @torch.no_grad()
    def whole(self, input):
        """The outputs of a whole sequence in one call. Frames that came by chunks are left as they are."""
        self._check(input)
        mode = self._mode or settings.compute_mode(input.dtype, self.compute)
        return self._call(input, mode).forward(input, *self._weights())

    def _final(self, frames):
        return max(0, frames * self._facts["stride"] - self._facts["delay"])

    def _outputs(self, x, end):
        """Those before `end` that were not given yet; x is the kept frames and new ones."""
        given = self._final(self._frames)
        count = max(0, end - given)
        if count == 0 or x.shape[0] == 0:
            return x.new_empty(x.shape[0], self.module.out_channels, count)
        first = given - (self._frames - self._kept.shape[2]) * self._facts["stride"]
        call, (weight, bias) = self._call(x, self._mode), self._weights()
        if self._packed is None:
            self._packed = [call.pack(weight, bias is not None)]
        _, workspace_bytes, kept_bytes = call.kernel("forward", bias is not None)
        memory = self._packed[0] if workspace_bytes == kept_bytes else None
        return call.forward(x, weight, bias, memory).narrow(2, first, count)

    def _weights(self):
        weight, bias = self.module.weight, self.module.bias
        return weight.detach(), None if bias is None else bias.detach()

    def _call(self, x, mode):
        key = x.shape, x.dtype, x.device, mode
        call = self._calls.get(key)
        if call is None:
            if len(self._calls) >= _MOST_LENGTHS:
                self._calls.clear()
            m = self.module
            parameters = geometry.Parameters(m.stride, m.padding, m.output_padding, m.dilation, m.groups)
            call = self._calls[key] = _Call(tuple(x.shape), tuple(m.weight.shape), x.dtype, x.device, False, False,
                                            parameters, mode)
        return call

    def _check(self, chunk):
        weight, kept = self.module.weight, self._kept
        if chunk.dim() != 3 or chunk.shape[1] != self.module.in_channels:
            raise ValueError(f"a chunk of shape {tuple(chunk.shape)}; legal is (batch, {self.module.in_channels}, "
                             "frames)")
        if chunk.dtype != weight.dtype or chunk.device != weight.device:
            raise ValueError(f"a chunk of {chunk.dtype} on {chunk.device}; the weights are {weight.dtype} on "
                             f"{weight.device}")
        if not settings.takes(chunk.device, chunk.dtype):
            raise ValueError(f"{chunk.dtype} on {chunk.device} has no kernels; legal are CUDA tensors of "
                             f"{', '.join(map(str, settings.DTYPES))}, and with use_host_device() those of the CPU")
        if kept is not None and (chunk.shape[0], chunk.dtype, chunk.device) != (kept.shape[0], kept.dtype, kept.device):
            raise ValueError(f"a chunk of batch {chunk.shape[0]}, {chunk.dtype} on {chunk.device}; the sequence has "
                             f"batch {kept.shape[0]}, {kept.dtype} on {kept.device}; reset() begins another")

    def __getstate__(self):
        # Kernels are not copied, nor a sequence that has begun.
        begun = {"_kept": None, "_frames": 0, "_mode": None, "_facts": None, "_packed": None, "_calls": {}}
        return {**self.__dict__, **begun}

    def extra_repr(self):
        return "" if self.compute is None else f"compute={self.compute!r}"
