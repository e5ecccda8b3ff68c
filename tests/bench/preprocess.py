#!/usr/bin/env python3
"""Compares io/resample with Pillow: python tests/bench/preprocess.py BUILD/tests/bench_resample [ROUNDS]

Both run in turn, on one core, in batches of equal length, and the best batch of ROUNDS times ten counts: on a shared
machine only ratios of the same run mean something. Prints the time of Pillow, of Vitrine, and their ratio for every resize benchmark; needs Pillow and numpy.
"""
import json
import subprocess
import sys
import time

import numpy as np
from PIL import Image

FILTERS = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # Pillow's numbers


def vitrine(program, name):
    """Milliseconds of processor time of one call, the best of ten batches."""
    out = subprocess.run([program, f"--benchmark_filter=^{name}$", "--benchmark_format=json", "--benchmark_min_time=0.02",
                          "--benchmark_repetitions=10"], check=True, capture_output=True, text=True).stdout
    rows = [row for row in json.loads(out)["benchmarks"] if row["run_type"] == "iteration"]
    return min(row["cpu_time"] * {"ns": 1e-6, "us": 1e-3, "ms": 1}[row["time_unit"]] for row in rows)


def pillow(size, to, number):
    """The same for Pillow."""
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))
    image.resize(to, number)
    best = 1e9
    for _ in range(10):
        start, calls = time.process_time(), 0
        while (spent := time.process_time() - start) < 0.02 or calls == 0:
            image.resize(to, number)
            calls += 1
        best = min(best, spent / calls)
    return best * 1e3


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    names = subprocess.run([program, "--benchmark_list_tests", "--benchmark_filter=^resize/"], check=True,
                           capture_output=True, text=True).stdout.split()
    slower = 0
    for name in names:
        _, size, to, filter_name = name.split("/")
        size, to = ([int(n) for n in s.split("x")] for s in (size, to))
        theirs = ours = 1e9
        for _ in range(rounds):
            theirs = min(theirs, pillow(size, to, FILTERS.index(filter_name)))
            ours = min(ours, vitrine(program, name))
        slower += ours > theirs
        print(f"{name:36} Pillow {theirs:8.3f} ms   Vitrine {ours:8.3f} ms   ratio {ours / theirs:.2f}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
