"""Times PyTorch's conv_transpose2d (cuDNN, benchmark mode) in strict fp32 on layer (a) of examples/seeds.convt.

Prints one line with the median milliseconds of 50 runs by CUDA events, the L2 cache flushed before each, as
`convtgen run` times its own kernels.
"""

import statistics

import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True

x = torch.randn(8, 32, 512, 1024, device="cuda")
weight = torch.randn(32, 32, 3, 7, device="cuda")
flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
times = []
for repeat in range(53):
    flush.zero_()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    torch.nn.functional.conv_transpose2d(x, weight, padding=(1, 3))
    end.record()
    torch.cuda.synchronize()
    times.append(begin.elapsed_time(end))
print(
    f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}: "
    f"strict fp32 {statistics.median(times[3:]):.3f} ms"
)
