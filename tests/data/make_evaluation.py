"""What scikit-learn says of predictions: evaluation/metrics.json, and evaluation/cifar10.json of the real model's.

metrics.json holds 60 pictures of 7 classes, class 6 without a picture: "truth", "logits" (float32, exact in decimal), and
"expected". cifar10.json has only "expected", of ../shared/models/dinov2-small-cifar10/expected-top1.csv, whose logits are
transformers'. ECE and MCE are Guo et al.'s formulas in NumPy, float64; the intervals are statsmodels' formula (Wilson) in NumPy.
Recipe, with scikit-learn 1.9.1:

    python3 make_evaluation.py [SHARED]
"""
import csv
import json
import pathlib
import sys

import numpy as np
from sklearn import metrics

HERE = pathlib.Path(__file__).parent
BINS = 15


def wilson(right, count, z=1.959963984540054):
    p = right / count
    centre, half = p + z * z / (2 * count), z * np.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return [(centre - half) / (1 + z * z / count), (centre + half) / (1 + z * z / count)]


def gaps(scores, right):
    """(share of the pictures, |accuracy - confidence|) of each bin that is not empty."""
    for i in range(BINS):
        inside = (scores > i / BINS) & (scores <= (i + 1) / BINS)
        if inside.any():
            yield inside.mean(), abs(right[inside].mean() - scores[inside].mean())


def expected(truth, logits):
    classes = np.arange(logits.shape[1])
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    predicted = logits.argmax(1)
    one_hot = np.eye(len(classes))[truth]
    top1 = metrics.accuracy_score(truth, predicted)
    occurring = sorted(set(truth) | set(predicted))
    table = metrics.precision_recall_fscore_support(truth, predicted, labels=occurring, zero_division=0)
    averages = {kind: [float(x) for x in metrics.precision_recall_fscore_support(truth, predicted, average=kind,
                                                                                zero_division=0)[:3]]
                for kind in ("macro", "weighted")}
    bins = list(gaps(shares.max(1), predicted == truth))
    return {
        "top1": float(top1), "interval": [float(x) for x in wilson(top1 * len(truth), len(truth))],
        "top5": float(metrics.top_k_accuracy_score(truth, logits, k=5, labels=classes)),
        "classes": [int(c) for c in occurring], "precision": table[0].tolist(), "recall": table[1].tolist(),
        "f1": table[2].tolist(), "support": table[3].tolist(), **averages,
        "confusion": metrics.confusion_matrix(truth, predicted, labels=occurring).tolist(),
        "nll": float(metrics.log_loss(truth, shares, labels=classes)),
        "brier": float(((shares - one_hot) ** 2).sum(1).mean()),
        "ece": float(sum(share * gap for share, gap in bins)), "mce": float(max(gap for _, gap in bins)),
    }


def small():
    random = np.random.default_rng(11)
    truth = random.integers(0, 6, 60)
    logits = (2 * random.standard_normal((60, 7)) + 3 * np.eye(7)[truth]).astype(np.float32)
    return {"truth": truth.tolist(), "logits": [[float(x) for x in row] for row in logits],
            "expected": expected(truth, logits.astype(np.float64))}


def cifar10(shared):
    rows = list(csv.DictReader(open(shared / "models/dinov2-small-cifar10/expected-top1.csv", encoding="utf-8")))
    names = [key[len("logit_"):] for key in rows[0] if key.startswith("logit_")]
    logits = np.array([[float(row["logit_" + name]) for name in names] for row in rows])
    truth = np.array([names.index(row["truth"]) for row in rows])
    return {"expected": expected(truth, logits)}


if __name__ == "__main__":
    (HERE / "evaluation").mkdir(exist_ok=True)
    (HERE / "evaluation" / "metrics.json").write_text(json.dumps(small()) + "\n")
    if len(sys.argv) > 1:
        (HERE / "evaluation" / "cifar10.json").write_text(json.dumps(cifar10(pathlib.Path(sys.argv[1]))) + "\n")
