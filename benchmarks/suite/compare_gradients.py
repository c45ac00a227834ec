"""Times the gradients of the layers of a .convt file: convtgen against PyTorch (cuDNN, benchmark mode on), in one run.

    compare_gradients.py FILE.convt [--direction grad_input]... [--mode tf32]... [--layout nchw]... [--layer NAME]...
                         [--weights channels_last] [--library libconvtgen.so] [--json OUT] [--against EARLIER.json]
    compare_gradients.py --results NEW.json --against EARLIER.json

PyTorch's is torch.ops.aten.convolution_backward, asked for that gradient alone. With --step also whole training steps:
forward and both gradients, one after the other. Modes, layouts, times and --against are compare.py's; our packing of
weights is in every run, and so is the gradient of the bias, which a layer with one has with that of the weights. Every
result is checked against PyTorch's convolution in fp64 before its time counts. Exits with 1 if a result of ours is wrong.

With --weights channels_last our weights and their gradients lie in that memory order, as in a model that was moved to
channels_last. cuDNN always gets weights in the order of x, which it requires.
"""

import math
import sys

from command import checked, parser_of, run
from layer import GRADIENTS
from results import geometric_mean


def print_table(rows):
    width = max(len("layer"), *(len(row["layer"]) for row in rows)) + 1
    for key in dict.fromkeys((row["direction"], row["mode"], row["layout"]) for row in rows):
        part = [row for row in rows if (row["direction"], row["mode"], row["layout"]) == key]
        print(f"\n{' '.join(key)}\n{'layer':<{width}}{'cuDNN ms':>10}{'ours ms':>10}{'ratio':>8}{'floor ms':>10}{'% floor':>9}"
              f"{'rel. L2':>10}  template")
        for row in part:
            ours, cudnn = row["convtgen"], row["cudnn"]
            print(f"{row['layer']:<{width}}{cudnn['ms']:>10.4f}{ours['ms']:>10.4f}{cudnn['ms'] / ours['ms']:>8.2f}"
                  f"{row['floor_ms']:>10.4f}{100 * row['floor_ms'] / ours['ms']:>9.1f}{ours['relative_l2']:>10.1e}  "
                  f"{ours['template']}{'  WRONG: ' + ours['wrong'] if ours['wrong'] else ''}")
        right = [row for row in part if not row["convtgen"]["wrong"]]
        ratios = [row["cudnn"]["ms"] / row["convtgen"]["ms"] for row in right]
        print(f"over {len(right)} of {len(part)}: geometric mean {geometric_mean(ratios):.2f}, least {min(ratios, default=math.nan):.2f}; "
              f"{100 * geometric_mean([row['floor_ms'] / row['convtgen']['ms'] for row in right]):.1f} % of the floor")


def measurement():
    from measure_gradients import Measurement

    return Measurement


def main(words):
    parser = parser_of(__doc__)
    parser.add_argument("--direction", action="append", choices=GRADIENTS, help="default: both")
    parser.add_argument("--weights", choices=["contiguous", "channels_last"], default="contiguous",
                        help="the memory order of our weights and of their gradients (default: contiguous)")
    parser.add_argument("--again", type=int, default=1, help="calls whose results must have the same bits as the first")
    parser.add_argument("--step", action="store_true", help="also whole training steps")
    options = checked(parser, words)
    return run("compare_gradients.py", words, options, measurement, print_table)[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
