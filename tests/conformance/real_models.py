#!/usr/bin/env python3
"""Compares the labels that `vitrine classify` gives with those of the Python reference, on real weights and pictures.

    real_models.py VITRINE MODEL PICTURES EXPECTED.csv

EXPECTED.csv has one row per picture: `image` (path below PICTURES) or `index` (the number that a file name starts with),
`truth`, `top1`, and a column `logit_<label>` per class. Passes where
  - there is exactly one row per picture, without an error;
  - the first label is the reference's on every picture whose reference scores lead by more than MARGIN;
  - the number of right answers is the reference's within 0.1 % of the pictures.
Exit code 77 (skipped, for ctest) where model or pictures are not on this machine.
"""
import csv
import json
import math
import os
import subprocess
import sys

SKIPPED = 77
MARGIN = 0.005
ACCURACY = 0.001


def scores(row):
    """label -> softmax of the reference's logits"""
    logits = {name.removeprefix("logit_"): float(value) for name, value in row.items() if name.startswith("logit_")}
    top = max(logits.values())
    total = sum(math.exp(v - top) for v in logits.values())
    return {label: math.exp(v - top) / total for label, v in logits.items()}


def expected_rows(path):
    """The key of a picture (see picture_key) -> its row."""
    with open(path, newline="", encoding="utf-8") as f:
        return {row.get("image") or int(row["index"]): row for row in csv.DictReader(f)}


def picture_key(path, folder, expected):
    relative = os.path.relpath(path, folder).replace(os.sep, "/")
    return relative if relative in expected else int(os.path.basename(path).split("-")[0])


def classify(vitrine, model, pictures):
    done = subprocess.run([vitrine, "classify", "-m", model, "-r", pictures, "--format", "jsonl"], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"vitrine classify ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    vitrine, model, pictures, expected_csv = sys.argv[1:]
    for path in (model, pictures, expected_csv):
        if not os.path.exists(path):
            print(f"skipped: there is no {path}")
            return SKIPPED
    expected = expected_rows(expected_csv)
    files = [os.path.join(folder, name) for folder, _, names in os.walk(pictures) for name in names]

    problems, seen = [], set()
    right = reference_right = decided = 0
    largest = 0.0
    for row in classify(vitrine, model, pictures):
        if "error" in row:
            problems.append(f"{row['input']}: {row['error']}")
            continue
        key = picture_key(row["input"], pictures, expected)
        if key in seen:
            problems.append(f"{row['input']}: two rows")
        seen.add(key)
        want, want_scores = expected[key], scores(expected[key])
        first = row["predictions"][0]
        right += first["label"] == want["truth"]
        reference_right += want["top1"] == want["truth"]
        largest = max(largest, *(abs(p["score"] - want_scores[p["label"]]) for p in row["predictions"]))
        best, second = sorted(want_scores.values(), reverse=True)[:2]
        if best - second > MARGIN:
            decided += 1
            if first["label"] != want["top1"]:
                problems.append(f"{row['input']}: {first['label']} {first['score']:.4f}, the reference says {want['top1']} {best:.4f}")
    if not files or len(seen) != len(files):
        problems.append(f"{len(seen)} pictures have a row, {len(files)} are there")
    if abs(right - reference_right) > ACCURACY * max(1, len(files)):
        problems.append(f"{right} right, the reference has {reference_right}")

    print(f"{len(seen)} pictures, {right} right (reference: {reference_right}), {decided} decided by more than {MARGIN}; "
          f"largest difference of a score {largest:.2g}")
    for problem in problems[:20]:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
