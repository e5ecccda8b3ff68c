#!/usr/bin/env python3
"""What reduced precisions and merged tokens cost in accuracy: python tests/bench/agreement.py BUILD/apps/vitrine SHARED

For each trained model of SHARED/models and its pictures in SHARED/images, every picture once in fp32, bf16 and int8: how many have
the label that fp32 gives them, how many the right one, and how far the features (the head's input) point from those of fp32. A
bound that is missed is named, and the exit code is 1:

    the same label as fp32     bf16 99.5 %, int8 99 % of the pictures
    cosine of the features     bf16 0.999,  int8 0.995, the least of all pictures

and fp32's labels must be those of the Python library (expected-top1.csv, expected-test.csv), but for pictures whose two best scores
are within 0.005. A processor without a precision computes in fp32, which is said and not counted as agreement. Needs numpy.

--merge 1,2,4 compares fp32 with so many tokens merged in every block, without bounds: how much to give up is the user's choice.
--image-size 224 takes other pixels than the models', where there is no Python library's label to compare with.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "conformance"))
from real_models import MARGIN, expected_rows, picture_key, scores  # noqa: E402

PRECISIONS = ("fp32", "bf16", "int8")
SAME_LABEL = {"fp32": 1, "bf16": 0.995, "int8": 0.99}
COSINE = {"fp32": 0.999999, "bf16": 0.999, "int8": 0.995}
CHUNK = 100  # pictures whose pixels lie on the disk at a time

# model -> folder of its pictures, what the Python library says of them
SUBJECTS = {"dinov2-small-cifar10": ("cifar10-test", "expected-top1.csv"),
            "fashion-mnist-vit": ("free/fashion-mnist", "expected-test.csv")}


def read_safetensors(path):
    """name -> array, of F32 tensors."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], np.float32).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


def run(command):
    """What it says on standard error."""
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:2])} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stderr


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def margin(row):
    first, second = sorted(scores(row).values(), reverse=True)[:2]
    return first - second


def compute(program, model, pictures, variants, size):
    """variant -> (logits [N, K], features [N, D]); a precision that fell back is left out and its note printed.

    variants: name -> options of `run`; size: those of `preprocess` for other pixels.
    """
    results = {variant: ([], []) for variant in variants}
    with tempfile.TemporaryDirectory() as folder:
        pixels = os.path.join(folder, "pixels.safetensors")
        output = os.path.join(folder, "output.safetensors")
        for first in range(0, len(pictures), CHUNK):
            run([program, "preprocess", "-m", model, *pictures[first:first + CHUNK], "-o", pixels, *size])
            for variant in list(results):
                said = run([program, "run", "-m", model, "--input", pixels, "-o", output, "--outputs", "logits,features",
                            *variants[variant]])
                if "fp32 is used" in said:
                    print(said.strip())
                    del results[variant]
                    continue
                tensors = read_safetensors(output)
                results[variant][0].append(tensors["logits"])
                results[variant][1].append(tensors["features"])
    return {variant: (np.concatenate(logits), np.concatenate(features)) for variant, (logits, features) in results.items()}


def cosines(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def check_reference(labels, rows):
    """How many of fp32's labels are not the Python library's, near ties aside."""
    return sum(1 for label, row in zip(labels, rows) if label != row["top1"] and margin(row) > MARGIN)


def report(name, results, labels, rows, check):
    """Prints the model's rows; the bounds that it misses. `check`: whether fp32's labels must be the Python library's."""
    missed = []
    logits32, features32 = results["fp32"]
    best32 = logits32.argmax(axis=1)
    truth = np.array([labels.index(row["truth"]) for row in rows])
    wrong = check_reference([labels[i] for i in best32], rows) if check else 0
    if wrong:
        missed.append(f"{name}: {wrong} labels in fp32 are not the reference's")
    for variant, (logits, features) in results.items():
        best = logits.argmax(axis=1)
        same = float((best == best32).mean())
        cosine = cosines(features, features32)
        furthest = np.abs(softmax(logits) - softmax(logits32)).max()
        print(f"{name:22} {variant:14} {len(best):5} pictures  same label {100 * same:6.2f} %  right {100 * (best == truth).mean():5.1f} %  "
              f"cosine {cosine.min():.5f} least, {cosine.mean():.5f} mean  scores within {furthest:.3f}", flush=True)
        if same < SAME_LABEL.get(variant, 0):
            missed.append(f"{name}, {variant}: {100 * same:.2f} % have fp32's label, {100 * SAME_LABEL[variant]} % should")
        if cosine.min() < COSINE.get(variant, -1):
            missed.append(f"{name}, {variant}: a cosine of {cosine.min():.5f}, {COSINE[variant]} is the least that may be")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("shared")
    parser.add_argument("--precisions", default="bf16,int8")
    parser.add_argument("--models", default=",".join(SUBJECTS))
    parser.add_argument("--merge", default="", help="numbers of tokens")
    parser.add_argument("--image-size", help="pixels, H or HxW")
    options = parser.parse_args()
    variants = {p: ["--precision", p] for p in ["fp32"] + [p for p in options.precisions.split(",") if p]}
    variants |= {f"fp32, merge {r}": ["--precision", "fp32", "--merge", r] for r in options.merge.split(",") if r}
    size = ["--image-size", options.image_size] if options.image_size else []
    missed = []
    for name in options.models.split(","):
        folder, expected_name = SUBJECTS[name]
        model = os.path.join(options.shared, "models", name)
        pictures_folder = os.path.join(options.shared, "images", folder)
        expected = expected_rows(os.path.join(model, expected_name))
        pictures = sorted(os.path.join(place, file) for place, _, files in os.walk(pictures_folder) for file in files)
        rows = [expected[picture_key(picture, pictures_folder, expected)] for picture in pictures]
        with open(os.path.join(model, "config.json"), encoding="utf-8") as f:
            id2label = json.load(f)["id2label"]
        labels = [id2label[str(i)] for i in range(len(id2label))]
        results = compute(options.program, model, pictures, variants, size)
        missed += report(name, results, labels, rows, check=not size)
    for what in missed:
        print("missed:", what)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
