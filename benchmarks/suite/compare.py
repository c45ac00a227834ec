"""Times the layers of a .convt file: convtgen against PyTorch (cuDNN, benchmark mode on), in one run.

    compare.py FILE.convt [--mode tf32]... [--layout nchw]... [--layer NAME]... [--library libconvtgen.so] [--json OUT]
               [--against EARLIER.json]
    compare.py --results NEW.json --against EARLIER.json

Modes: f32 (strict), f32x3 (against cuDNN's strict fp32), tf32, f16, bf16; layouts: nchw, nhwc (PyTorch's channels_last).
Every result is checked against fp64 before its time counts. Times are medians by CUDA events, the L2 cache flushed
before each run, on random inputs. Exits with 1 if a result of ours is wrong.
Weights lie as PyTorch makes them. Where a kernel of ours packs them, and where cuDNN has them converted (channels_last),
"ms" is with that in every run, and "ahead" without it, as where weights stay the same. The ratio is of the former, and
"ahead" in the last columns of the latter.
With --against it lists the layers that are slower or faster than in earlier results by more than the noise of both, which
rounds show, and exits with 1 if a layer is slower. The second form compares two files, without a GPU or PyTorch.
plot.py draws the pictures of a JSON file, wherever matplotlib is; so does --pictures at once. history.py draws all files
of benchmarks/results.
"""

import sys

from command import checked, parser_of, run
from results import geometric_mean


def print_table(rows):
    width = max(len("layer"), *(len(row["layer"]) for row in rows)) + 1
    for mode, layout in dict.fromkeys((row["mode"], row["layout"]) for row in rows):
        part = [row for row in rows if (row["mode"], row["layout"]) == (mode, layout)]
        print(f"\n{mode} {layout}\n{'layer':<{width}}{'cuDNN ms':>10}{'ahead':>10}{'ours ms':>10}{'ahead':>10}"
              f"{'ratio':>8}{'ahead':>8}{'floor ms':>10}{'% floor':>9}{'rel. L2':>10}{'cuDNN L2':>10}  template")
        for row in part:
            ours, cudnn = row["convtgen"], row["cudnn"]
            print(f"{row['layer']:<{width}}{cudnn['ms']:>10.4f}{cudnn['ms_ahead']:>10.4f}{ours['ms']:>10.4f}"
                  f"{ours['ms_ahead']:>10.4f}{cudnn['ms'] / ours['ms']:>8.2f}"
                  f"{cudnn['ms_ahead'] / ours['ms_ahead']:>8.2f}"
                  f"{row['floor_ms']:>10.4f}{100 * row['floor_ms'] / ours['ms']:>9.1f}"
                  f"{ours['relative_l2']:>10.1e}{cudnn['relative_l2']:>10.1e}  {ours['template']}"
                  f"{'  WRONG: ' + ours['wrong'] if ours['wrong'] else ''}")
        right = [row for row in part if not row["convtgen"]["wrong"]]
        print(f"geometric means over {len(right)}: {geometric_mean([r['cudnn']['ms'] / r['convtgen']['ms'] for r in right]):.2f}"
              f" times cuDNN, {geometric_mean([r['cudnn']['ms_ahead'] / r['convtgen']['ms_ahead'] for r in right]):.2f}"
              f" with weights made ready ahead, "
              f"{100 * geometric_mean([r['floor_ms'] / r['convtgen']['ms'] for r in right]):.1f} % of the floor"
              f" (cuDNN {100 * geometric_mean([r['floor_ms'] / r['cudnn']['ms'] for r in right]):.1f} %)")


def measurement():
    from measure_forward import Measurement

    return Measurement


def main(words):
    parser = parser_of(__doc__)
    parser.add_argument("--pictures", metavar="FOLDER", help="where plot.py's pictures go")
    options = checked(parser, words)
    if options.pictures:
        import plot  # now: it reports what it lacks before the measuring
    results, status = run("compare.py", words, options, measurement, print_table)
    if options.pictures:
        plot.draw(results, options.pictures)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
