#!/usr/bin/env python3
"""Writes solutions of KernelBench's problems with transposed convolutions: kernels that convtgen emits, in its format.

    make.py [--convtgen PROGRAM] [-o FOLDER] [LEVEL/PROBLEM...]        all problems unless some are named: 1/57 2/16

Each file has a class ModelNew with the parameters of the problem's Model. Its forward() calls a kernel that `convtgen
emit` made for exactly this layer, launched by the code of `convtgen launcher`; both are in the file, compiled by
PyTorch's load_inline. What a layer can't fuse follows as PyTorch's operations. The file needs PyTorch, nvcc and a GPU of sm_90a, nothing of convtgen.

The problems are those of https://github.com/ScalingIntelligence/KernelBench, commit
423217d9fda91e0c2d67e4a43bf62f96f6d104f1. The files have the names that its scripts look for.
"""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURE = "sm_90a"
# Arguments of PyTorch's modules; all others are of the problem alone.
MODULE_ARGUMENTS = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "output_padding", "dilation",
                    "groups")


@dataclasses.dataclass(frozen=True)
class Problem:
    level: int
    number: int
    layer: str  # in convtgen's language, without dtype and compute
    arguments: dict  # of Model(), as get_init_inputs() gives them
    attribute: str = "conv_transpose2d"  # Model's name for its module: state dicts have it
    defaults: dict = dataclasses.field(default_factory=dict)  # of Model() where get_init_inputs() gives no value
    own_bias: str = ""  # "+" or "-": what Model does with a bias of its own, after the module's
    inputs: tuple = ()  # of forward(), after x
    members: tuple = ()  # other ones of Model, as lines of __init__()
    tail: tuple = ()  # what Model does with the layer's y that is not fused, as lines of forward()
    notes: tuple = ()  # how the layer computes what Model does
    compute: str = "tf32"  # as PyTorch's default is; cuDNN has no tf32 for some layers with groups

    @property
    def name(self):
        return f"{self.level}/{self.number}"

    @property
    def file(self):
        return f"level_{self.level}_problem_{self.number}_sample_0_kernel.py"

    @property
    def module(self):
        return f"ConvTranspose{self.axes}d"

    @property
    def axes(self):
        return int(self.layer[len("conv_transpose")])

    @property
    def bias(self):
        """Level 1 has modules without bias, level 2 PyTorch's default where Model is not told otherwise."""
        return self.arguments.get("bias", self.level == 2)


OWN_BIAS = "The layer's bias is the module's bias plus or minus the problem's: only the order of additions differs."

PROBLEMS = (
    Problem(1, 57, "conv_transpose2d 64 -> 64; kernel 3; input 8x1024x1024",
            dict(in_channels=64, out_channels=64, kernel_size=3)),
    Problem(1, 58, "conv_transpose3d 32 -> 16; kernel 3x5x7; input 16x16x32x64",
            dict(in_channels=32, out_channels=16, kernel_size=(3, 5, 7)), "conv_transpose3d"),
    Problem(1, 61, "conv_transpose3d 48 -> 48; kernel 3; input 8x64x64x64",
            dict(in_channels=48, out_channels=48, kernel_size=3), "conv_transpose3d"),
    Problem(1, 64, "conv_transpose1d 128 -> 128; kernel 3; input 64x65536",
            dict(in_channels=128, out_channels=128, kernel_size=3), "conv1d_transpose"),
    Problem(1, 65, "conv_transpose2d 64 -> 64; kernel 3x7; input 8x512x512",
            dict(in_channels=64, out_channels=64, kernel_size=(3, 7))),
    Problem(1, 68, "conv_transpose3d 32 -> 64; kernel 3x5x5; input 16x64x64x64",
            dict(in_channels=32, out_channels=64, kernel_size=(3, 5, 5)), "conv_transpose3d"),
    Problem(1, 69, "conv_transpose2d 64 -> 128; kernel 3x5; input 64x128x256",
            dict(in_channels=64, out_channels=128, kernel_size=(3, 5))),
    Problem(1, 70, "conv_transpose3d 48 -> 24; kernel 3; input 8x96x96x96",
            dict(in_channels=48, out_channels=24, kernel_size=3), "conv_transpose3d"),
    Problem(1, 71, "conv_transpose2d 32 -> 32; kernel 3; input 8x512x1024",
            dict(in_channels=32, out_channels=32, kernel_size=3)),
    Problem(1, 72, "conv_transpose3d 32 -> 32; kernel 3x5x7; stride 2; padding 1x2x3; output_padding 1; groups 4; "
            "input 8x12x24x48",
            dict(in_channels=32, out_channels=32, kernel_size=(3, 5, 7), stride=(2, 2, 2), padding=(1, 2, 3),
                 output_padding=(1, 1, 1), groups=4), "conv_transpose3d",
            notes=("cuDNN computes this layer in fp32, so tf32 would differ by more than KernelBench allows.",),
            compute="f32x3"),
    Problem(1, 73, "conv_transpose3d 32 -> 32; kernel 3; stride 2; padding 1; input 4x32x64x128",
            dict(in_channels=32, out_channels=32, kernel_size=3, stride=2, padding=1, unread=4), "conv_transpose3d",
            notes=("get_init_inputs() gives 4 groups where Model() takes output_padding, which it does not read.",)),
    Problem(1, 74, "conv_transpose1d 32 -> 64; kernel 5; dilation 3; input 32x131072",
            dict(in_channels=32, out_channels=64, kernel_size=5, stride=1, padding=0, dilation=3), "conv1d_transpose"),
    Problem(1, 75, "conv_transpose2d 32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; "
            "input 16x128x256",
            dict(in_channels=32, out_channels=64, kernel_size=(3, 5), stride=(2, 3), padding=(1, 2), dilation=(2, 1),
                 groups=4)),
    Problem(1, 77, "conv_transpose3d 32 -> 64; kernel 3; stride 2; padding 1; dilation 2; input 16x16x32x32",
            dict(in_channels=32, out_channels=64, kernel_size=3, stride=2, padding=1, dilation=2), "conv_transpose3d"),
    Problem(1, 78, "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024",
            dict(in_channels=32, out_channels=32, kernel_size=(3, 7), stride=(1, 1), padding=(1, 3))),
    Problem(1, 79, "conv_transpose1d 32 -> 64; kernel 3; stride 2; padding 1; dilation 2; input 16x131072",
            dict(in_channels=32, out_channels=64, kernel_size=3, stride=2, padding=1, dilation=2), "conv1d_transpose"),
    Problem(1, 81, "conv_transpose2d 32 -> 64; kernel 3; stride 5; padding 1; dilation 2; input 16x64x128",
            dict(in_channels=32, out_channels=64, kernel_size=3, stride=5, padding=1, dilation=2)),
    Problem(2, 2, "conv_transpose2d 64 -> 64; kernel 3; stride 2; padding 1; output_padding 1; input 128x128x128; "
            "bias; fuse clamp(0, 1), scale(2), clamp(0, 1), scale(0.5)",
            dict(in_channels=64, out_channels=64, kernel_size=3, stride=2, padding=1, output_padding=1,
                 bias_shape=(64, 1, 1), scaling_factor=2.0), "conv_transpose", own_bias="+",
            notes=(OWN_BIAS, "x / 2 is scale(0.5), exactly.")),
    Problem(2, 5, "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; output_padding 1; input 32x256x256; "
            "bias; fuse tanh",
            dict(in_channels=64, out_channels=64, kernel_size=4, bias_shape=(64, 1, 1)), "conv_transpose",
            defaults=dict(stride=2, padding=1, output_padding=1), own_bias="-", notes=(OWN_BIAS,)),
    Problem(2, 13, "conv_transpose3d 16 -> 64; kernel 3; padding 1; input 16x32x128x128; bias",
            dict(in_channels=16, out_channels=64, kernel_size=3, stride=1, padding=1, scaling_factor=2.0),
            "conv_transpose", members=("self.bias = nn.Parameter(torch.randn(1, out_channels, 1, 1, 1))",
                                       "self.scaling_factor = scaling_factor"),
            tail=("return torch.tanh(torch.softmax(y.mean(dim=2, keepdim=True) + self.bias, dim=1)) * "
                  "self.scaling_factor",)),
    Problem(2, 16, "conv_transpose2d 64 -> 64; kernel 3; stride 2; padding 1; output_padding 1; input 128x128x128; "
            "bias; fuse mish, add(0.5), hardtanh(-1, 1), scale(2)",
            dict(in_channels=64, out_channels=64, kernel_size=3, stride=2, padding=1, output_padding=1, add_value=0.5,
                 scale=2), "conv_transpose"),
    Problem(2, 20, "conv_transpose3d 32 -> 64; kernel 3; stride 2; padding 1; output_padding 1; input 16x16x32x32; bias",
            dict(in_channels=32, out_channels=64, kernel_size=3, stride=2, padding=1, output_padding=1,
                 bias_shape=(64, 1, 1, 1)), "conv_transpose",
            members=("self.bias = nn.Parameter(torch.randn(bias_shape))",),
            tail=("return (y + self.bias + y) * y + y",)),
    Problem(2, 26, "conv_transpose3d 32 -> 64; kernel 3; stride 2; padding 1; output_padding 1; input 128x16x16x16; bias",
            dict(in_channels=32, out_channels=64, kernel_size=3, stride=2, padding=1, output_padding=1,
                 bias_shape=(64, 1, 1, 1, 1)), "conv_transpose", inputs=("add_input",),
            members=("self.bias = nn.Parameter(torch.randn(bias_shape))", "self.hardswish = nn.Hardswish()"),
            tail=("y = y + add_input", "return y * self.hardswish(y)")),
    Problem(2, 61, "conv_transpose3d 64 -> 128; kernel 3; input 16x32x32x32; fuse relu",
            dict(in_channels=64, out_channels=128, kernel_size=3, norm_groups=8, bias=False), "conv_transpose",
            members=("self.group_norm = nn.GroupNorm(num_groups=norm_groups, num_channels=out_channels)",),
            tail=("return self.group_norm(y)",)),
    Problem(2, 93, "conv_transpose2d 64 -> 128; kernel 4; stride 2; input 128x64x64; bias; "
            "fuse add(0.5), scale(-1), relu, scale(-1), gelu, scale(2)",
            dict(in_channels=64, out_channels=128, kernel_size=4, stride=2, add_value=0.5, multiply_value=2.0),
            "conv_transpose", notes=("min(x, 0) is -relu(-x), exactly, also for infinities and NaN.",)),
    Problem(2, 100, "conv_transpose3d 64 -> 128; kernel 3; stride 2; padding 1; input 16x24x48x48; bias; "
            "fuse clamp(-1, 3.4028234663852886e38), scale(0.5)",
            dict(in_channels=64, out_channels=128, kernel_size=3, stride=2, padding=1, min_value=-1.0, divisor=2.0),
            "conv_transpose", notes=("x / 2 is scale(0.5), exactly. The upper bound is the largest float.",)),
)

# The same for all problems: the launch code gives the sizes. C++ includes PyTorch's headers, the CUDA source does not,
# which saves nvcc half a minute.
BINDING = """
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

@HEADER@

// An axis that the layer lacks has extent 1 in front of the others.
static std::vector<int64_t> shape(int64_t batch, int64_t channels, const int64_t* extents, int64_t axes) {
  std::vector<int64_t> sizes{batch, channels};
  sizes.insert(sizes.end(), extents + 3 - axes, extents + 3);
  return sizes;
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  const convt_kernel* kernel = convt_kernels()[0];
  const convt_input input = {-1, {-1, -1, -1}};  // the layer's own sizes
  convt_sizes sizes;
  TORCH_CHECK(convt_kernel_sizes(kernel, &input, &sizes) == CONVT_OK, convt_last_error());
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() > 2, "x must be contiguous, on a GPU");
  const std::vector<int64_t> x_shape = shape(sizes.batch, sizes.in_channels, sizes.in, x.dim() - 2);
  TORCH_CHECK(x.sizes() == at::IntArrayRef(x_shape), "x has sizes ", x.sizes(), "; the kernel is for ", kernel->text);
  TORCH_CHECK(weight.device() == x.device() && weight.is_contiguous() && weight.numel() == sizes.weight_elements,
              "weight does not fit ", kernel->text);
  TORCH_CHECK((bias ? bias->numel() : 0) == sizes.bias_elements, "bias does not fit ", kernel->text);
  TORCH_CHECK(!bias || (bias->device() == x.device() && bias->is_contiguous()), "bias must be contiguous, where x is");

  const c10::cuda::CUDAGuard device(x.device());
  const at::Tensor y = at::empty(shape(sizes.batch, sizes.out_channels, sizes.out, x.dim() - 2), x.options());
  const size_t bytes = convt_kernel_workspace(kernel, &input);  // for a packed copy of the weights
  const at::Tensor workspace = at::empty({static_cast<int64_t>(bytes)}, x.options().dtype(at::kByte));
  convt_tensors tensors = {};
  tensors.x = x.const_data_ptr<float>();
  tensors.weight = weight.const_data_ptr<float>();
  tensors.bias = bias ? bias->const_data_ptr<float>() : nullptr;
  tensors.y = y.mutable_data_ptr<float>();
  tensors.workspace = workspace.mutable_data_ptr();
  tensors.workspace_bytes = bytes;
  TORCH_CHECK(convt_kernel_launch(kernel, &tensors, &input, at::cuda::getCurrentCUDAStream()) == CONVT_OK,
              convt_last_error());
  return y;
}
"""

SOLUTION = '''# KernelBench, level @LEVEL@, problem @NUMBER@, for GPUs of @ARCHITECTURE@ (H100, H200). Made by convtgen:
#   @LAYER@
@NOTES@@IMPORTS@import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""@CUDA@"""

CPP_SOURCE = r"""@CPP@"""

extension = load_inline(
    name="convt_level_@LEVEL@_problem_@NUMBER@", functions=["forward"],
    cpp_sources=CPP_SOURCE, cuda_sources=CUDA_SOURCE,
    # These flags take the place of TORCH_CUDA_ARCH_LIST.
    extra_cuda_cflags=["-O3", "-gencode", "arch=compute_90a,code=sm_90a"], no_implicit_headers=True)


class ModelNew(nn.Module):
    def __init__(self, @NAMES@):
        super().__init__()
        # The kernel has these numbers in it.
        assert (@NAMES@) == (@VALUES@)
        self.@ATTRIBUTE@ = nn.@MODULE@(
            @MODULE_ARGUMENTS@)
@PARAMETERS@
    def forward(self, @INPUTS@):
@FORWARD@'''


def run(*command):
    """What the command prints; an error of it ends this program."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"make.py: {' '.join(command)}\n{ended.stderr}")
    return ended.stdout


def fill(template, **texts):
    """Puts each text in the place of @NAME@, once over the template: texts may have such words themselves."""
    return re.sub(r"@([A-Z_]+)@", lambda place: texts[place[1].lower()], template)


def inline(folder, name, seen):
    """The file with each `#include "file"` replaced by the file, the first time, and by nothing later."""
    def include(line):
        if line[1] in seen:
            return ""
        seen.add(line[1])
        return inline(folder, line[1], seen)

    return re.sub(r'^#include "([^"]+)"\n', include, (folder / name).read_text(encoding="utf-8"), flags=re.MULTILINE)


def without_comments(text):
    """Launch code without its comments: KernelBench searches the text for words like "pass" that are prose there."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]*/\*.*?\*/(\n(?=\n)|)", "", text, flags=re.DOTALL))


def sources(problem, convtgen):
    """The layer in its canonical form, the CUDA source, and the header of its functions."""
    text = f"{problem.layer}; compute {problem.compute}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run(convtgen, "launcher", "-e", text, "--namespace", "convt", "--arch", ARCHITECTURE, "--format", "source",
            "-o", temporary)
        for file in folder.iterdir():
            file.write_text(without_comments(file.read_text(encoding="utf-8")), encoding="utf-8")
        run(convtgen, "emit", "-e", text, "--arch", ARCHITECTURE, "-o", temporary)
        canonical = (folder / f"layer_forward.{ARCHITECTURE}.cu").read_text(encoding="utf-8").splitlines()[0][3:]
        seen = set()
        cuda = inline(folder, "convt_layer_forward.cu", seen) + inline(folder, "convt_support.cu", seen)
        return canonical, cuda, inline(folder, "convt.h", set())


def lines(texts):
    """Lines of a method."""
    return "".join(f"        {text}\n" for text in texts)


def solution(problem, convtgen):
    """The text of the problem's file."""
    canonical, cuda, header = sources(problem, convtgen)
    for text in (cuda, header):
        assert '"""' not in text and not text.endswith("\\")
    module = problem.arguments | problem.defaults
    bias = f"self.{problem.attribute}.bias" if problem.bias else "None"
    members = problem.members
    if problem.own_bias:
        members = ("self.bias = nn.Parameter(torch.randn(bias_shape))", *members)
        bias = f"{bias} {problem.own_bias} self.bias.flatten()"
    call = f"extension.forward(x, self.{problem.attribute}.weight, {bias})"
    forward = (f"y = {call}", *problem.tail) if problem.tail else (f"return {call}",)
    needs_torch = any("torch." in line for line in (*members, *problem.tail))
    return fill(
        SOLUTION, level=str(problem.level), number=str(problem.number), architecture=ARCHITECTURE, layer=canonical,
        notes="".join(f"# {note}\n" for note in problem.notes), imports="import torch\n" if needs_torch else "",
        cuda=cuda, cpp=fill(BINDING, header=header),
        names=", ".join(problem.arguments), values=", ".join(map(repr, problem.arguments.values())),
        attribute=problem.attribute, module=problem.module,
        module_arguments=", ".join([f"{name}={module[name]!r}" for name in MODULE_ARGUMENTS if name in module]
                                   + [f"bias={problem.bias}"]),
        parameters=lines(members), inputs=", ".join(("x", *problem.inputs)), forward=lines(forward))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convtgen", default="convtgen", metavar="PROGRAM")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("."), metavar="FOLDER")
    parser.add_argument("problems", nargs="*", metavar="LEVEL/PROBLEM")
    options = parser.parse_args()
    known = {problem.name: problem for problem in PROBLEMS}
    unknown = [name for name in options.problems if name not in known]
    if unknown:
        parser.error(f"unknown problem {unknown[0]}; there are {', '.join(known)}")
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.problems or known:
        path = options.output / known[name].file
        path.write_text(solution(known[name], options.convtgen), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
