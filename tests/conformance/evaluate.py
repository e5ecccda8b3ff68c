#!/usr/bin/env python3
"""`vitrine evaluate` on real pictures against what scikit-learn says of transformers' logits for them (tests/data/make_evaluation.py):
evaluate.py VITRINE MODEL PICTURES EXPECTED.json. Exit code 77 (skipped, for ctest) where the model or the pictures are not there.
"""
import json
import pathlib
import subprocess
import sys

SKIPPED = 77
BOUND = 1e-9  # counts and their quotients
FLOAT_BOUND = 2e-4  # of sums of scores: logits differ by their fifth decimal, which moves a picture from bin to bin at most


def main(vitrine, model, pictures, expected_file):
    if not (pathlib.Path(model).exists() and pathlib.Path(pictures).exists()):
        print("skipped: no model or no pictures beside the checkout")
        return SKIPPED
    expected = json.loads(pathlib.Path(expected_file).read_text(encoding="utf-8"))["expected"]
    done = subprocess.run([vitrine, "evaluate", pictures, "-m", model, "--format", "json"], capture_output=True, text=True, check=True)
    got = json.loads(done.stdout)
    by_index = {(entry["truth"], entry["predicted"]): entry["count"] for entry in got["confusion"]}
    indices = [entry["index"] for entry in got["classes"]]
    pairs = [("top1", got["top1"]["value"], expected["top1"]), ("top5", got["topk"]["value"], expected["top5"]),
             ("low", got["top1"]["low"], expected["interval"][0]), ("high", got["top1"]["high"], expected["interval"][1])]
    for kind in ("macro", "weighted"):
        pairs += [(f"{kind} {key}", got[kind][key], value) for key, value in zip(("precision", "recall", "f1"), expected[kind])]
    for key in ("precision", "recall", "f1", "support"):
        pairs += [(f"{key} of {entry['index']}", entry[key], value) for entry, value in zip(got["classes"], expected[key])]
    pairs += [(f"{a} taken for {b}", by_index.get((a, b), 0), value)
              for a, row in zip(indices, expected["confusion"]) for b, value in zip(indices, row)]
    wrong = [(name, g, e) for name, g, e in pairs if abs(g - e) > BOUND]
    for key in ("nll", "brier", "ece", "mce"):
        if abs(got["calibration"][key] - expected[key]) > FLOAT_BOUND:
            wrong.append((key, got["calibration"][key], expected[key]))
    if indices != expected["classes"]:
        wrong.append(("classes", indices, expected["classes"]))
    for name, g, e in wrong:
        print(f"{name}: {g}, scikit-learn {e}")
    print(f"{len(pairs) + 5} numbers compared, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
