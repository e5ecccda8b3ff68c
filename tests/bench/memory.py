#!/usr/bin/env python3
"""What a run needs of memory: python tests/bench/memory.py BUILD/apps/vitrine [--images 10000] [--sizes 200]

Prints, and compares with what is expected,

- the peak of `classify` on one picture with ViT-B/16 in fp32: 1.25 times its weights + 120 MB at most;
- the resident memory over --images pictures with the shipped model: flat after the first tenth;
- the same over --sizes different picture sizes with a network that takes any (a Session, its primitives and its workspace for each;
  only the last few are kept), three times over: flat after the first round.

Flat: at most 16 MB or 5 %, whichever is more. Needs numpy and Pillow.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

import random_vit


def resident_mb(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Run:
    """`classify -`, to which paths are given one by one or many at a time."""

    def __init__(self, program, model, threads):
        command = [program, "classify", "-", "--format", "jsonl", "-k", "1", "-q", "--threads", str(threads)]
        self.process = subprocess.Popen(command + (["-m", model] if model else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self, paths):
        """Waits for the answers; they must be labels."""
        self.process.stdin.write("".join(path + "\n" for path in paths))
        self.process.stdin.flush()
        for path in paths:
            row = self.process.stdout.readline()
            if '"predictions"' not in row:
                raise SystemExit(f"{path}: {row or 'no answer'}")

    def resident_mb(self):
        return resident_mb(self.process.pid)

    def finish(self):
        self.process.stdin.close()
        self.process.wait()


def peak_mb(program, model, picture):
    process = subprocess.Popen([program, "classify", "-m", model, picture, "-q"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit("classify failed")
    return usage.ru_maxrss * 1024 / 1e6


def flat(what, samples):
    """Prints the samples' range; whether those after the first stay with it."""
    growth = max(samples[1:]) - samples[0]
    good = growth <= max(16, 0.05 * samples[0])
    print(f"{what}: {samples[0]:.1f} MB, then {min(samples[1:]):.1f} to {max(samples[1:]):.1f} MB: {'flat' if good else 'GROWS'}", flush=True)
    return good


def many_pictures(program, folder, count, threads):
    random = np.random.default_rng(1)
    paths = []
    for i in range(50):
        path = os.path.join(folder, f"{i}.jpg")
        height, width = random.integers(40, 600, 2)
        Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8)).save(path)
        paths.append(path)
    run, samples, part = Run(program, None, threads), [], max(count // 10, 50)
    for _ in range(10):
        for _ in range(part // 50):
            run.answer(paths)
        samples.append(run.resident_mb())
    run.finish()
    return flat(f"{count} pictures", samples)


def many_sizes(program, folder, count, threads):
    recipe = {"do_resize": False}
    model = random_vit.make_folder(os.path.join(folder, "any"), "tiny", recipe=recipe)
    paths = []
    for i in range(count):
        path = os.path.join(folder, f"size{i}.png")
        height, width = 32 + 16 * (i % 20), 48 + 16 * (i // 20)
        Image.fromarray(np.full((height, width, 3), i % 256, dtype=np.uint8)).save(path)
        paths.append(path)
    run, samples = Run(program, model, threads), []
    for _ in range(3):
        start = time.time()
        run.answer(paths)
        samples.append(run.resident_mb())
        print(f"  a round over {count} sizes: {time.time() - start:.1f} s, {samples[-1]:.1f} MB", flush=True)
    run.finish()
    return flat(f"{count} sizes", samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--images", type=int, default=10000)
    parser.add_argument("--sizes", type=int, default=200)
    parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        model = random_vit.make_folder(os.path.join(folder, "base"), "base")
        weights = os.path.getsize(os.path.join(model, "model.safetensors")) / 1e6
        picture = os.path.join(folder, "one.png")
        Image.fromarray(np.zeros((500, 400, 3), dtype=np.uint8)).save(picture)
        peak, limit = peak_mb(options.program, model, picture), 1.25 * weights + 120
        print(f"ViT-B/16, one picture: peak {peak:.1f} MB; weights {weights:.1f} MB, limit {limit:.1f} MB", flush=True)
        good = peak <= limit and good
        good = many_pictures(options.program, folder, options.images, options.threads) and good
        good = many_sizes(options.program, folder, options.sizes, options.threads) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
