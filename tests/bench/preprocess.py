#!/usr/bin/env python3
"""Compares io/ with Pillow and torchvision: python tests/bench/preprocess.py BUILD/tests/bench_resample [ROUNDS]

Both run in turn, on one core, in batches of equal length, and the best batch of ROUNDS times ten counts: on a shared
machine only ratios of the same run mean something. Prints the time of theirs, of Vitrine's, and their ratio, for every resize benchmark,
and for some pictures from the bytes of the file to the normalised tensor, by timm's recipe: Pillow decodes, torchvision's transforms
resize (which is Pillow too), crop, and make a tensor of it. Needs Pillow and numpy; where there is no torchvision numpy does the last
step, with the same arithmetic.
"""
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

FILTERS = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # Pillow's numbers
PICTURES = {"12 megapixels.jpg": (4000, 3000), "2 megapixels.jpg": (1632, 1224), "500x375.jpg": (500, 375),
            "640x480.png": (640, 480)}
EDGE, SIDE = 248, 224   # of timm's recipe for ViTs


def vitrine(program, name, pictures=()):
    """Milliseconds of processor time of one call, the best of ten batches."""
    out = subprocess.run([program, f"--benchmark_filter=^{name}$", "--benchmark_format=json", "--benchmark_min_time=0.02",
                          "--benchmark_repetitions=10", *pictures], check=True, capture_output=True, text=True).stdout
    rows = [row for row in json.loads(out)["benchmarks"] if row["run_type"] == "iteration"]
    return min(row["cpu_time"] * {"ns": 1e-6, "us": 1e-3, "ms": 1}[row["time_unit"]] for row in rows)


def best_of_ten(call):
    """The same for a function of Python."""
    call()
    best = 1e9
    for _ in range(10):
        start, calls = time.process_time(), 0
        while (spent := time.process_time() - start) < 0.02 or calls == 0:
            call()
            calls += 1
        best = min(best, spent / calls)
    return best * 1e3


def pillow(size, to, number):
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))
    return lambda: image.resize(to, number)


# ------------------------------------------------------------------------------------------ files to tensors
def write_pictures(folder):
    """Smooth, as photographs are, with some noise."""
    random = np.random.default_rng(0)
    for name, (width, height) in PICTURES.items():
        coarse = random.integers(0, 256, (height // 25, width // 25, 3), dtype=np.uint8)
        smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC), dtype=np.int16)
        noisy = smooth + random.integers(-6, 7, smooth.shape, dtype=np.int16)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(folder / name, quality=90)


def torchvision_recipe():
    import torch
    from torchvision import transforms
    torch.set_num_threads(1)
    return "torchvision", transforms.Compose([
        transforms.Resize(EDGE, transforms.InterpolationMode.BICUBIC), transforms.CenterCrop(SIDE), transforms.ToTensor(),
        transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])


def numpy_recipe():
    def recipe(image):
        width, height = image.size
        short = min(width, height)
        image = image.resize((EDGE * width // short, EDGE * height // short), Image.Resampling.BICUBIC)
        left, top = (round((side - SIDE) / 2) for side in image.size)
        values = np.asarray(image.crop((left, top, left + SIDE, top + SIDE)), dtype=np.float32) / np.float32(255)
        return np.ascontiguousarray(((values - np.float32(0.5)) / np.float32(0.5)).transpose(2, 0, 1))
    return "Pillow", recipe


def their_recipe():
    try:
        return torchvision_recipe()
    except Exception as error:                  # not installed, or not for the torch that is
        print(f"numpy in the place of torchvision: {error}", file=sys.stderr)
        return numpy_recipe()


# ------------------------------------------------------------------------------------------ comparison
class Comparison:
    def __init__(self, rounds):
        self.rounds, self.slower = rounds, 0

    def add(self, name, who, theirs, ours):
        """Functions that give milliseconds."""
        least = [min(times) for times in zip(*((theirs(), ours()) for _ in range(self.rounds)))]
        self.slower += least[1] > least[0]
        print(f"{name:36} {who:11} {least[0]:8.3f} ms   Vitrine {least[1]:8.3f} ms   ratio {least[1] / least[0]:.2f}")


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    comparison = Comparison(rounds)
    names = subprocess.run([program, "--benchmark_list_tests", "--benchmark_filter=^resize/"], check=True,
                           capture_output=True, text=True).stdout.split()
    for name in names:
        _, size, to, filter_name = name.split("/")
        size, to = ([int(n) for n in s.split("x")] for s in (size, to))
        resize = pillow(size, to, FILTERS.index(filter_name))
        comparison.add(name, "Pillow", lambda: best_of_ten(resize), lambda: vitrine(program, name))

    who, recipe = their_recipe()
    with tempfile.TemporaryDirectory() as folder:
        write_pictures(pathlib.Path(folder))
        for picture in PICTURES:
            path = pathlib.Path(folder) / picture
            data = path.read_bytes()
            comparison.add(f"picture/{picture}", who,
                           lambda: best_of_ten(lambda: recipe(Image.open(io.BytesIO(data)).convert("RGB"))),
                           lambda: vitrine(program, f"picture/{picture}", [path]))
    return 1 if comparison.slower else 0


if __name__ == "__main__":
    sys.exit(main())
