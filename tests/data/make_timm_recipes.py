#!/usr/bin/env python3
"""Writes timm_recipes.json and .bin to preprocess/: what timm's evaluation transform makes of pictures.

    python tests/data/make_timm_recipes.py      # needs Pillow 13.0.0, timm 1.0.31 with torchvision, and numpy
"""
import json
from pathlib import Path

import numpy as np
import PIL
import timm
import timm.data
from PIL import Image


def picture(height, width, seed):
    """The "noise" of make_preprocess.py, which needs transformers."""
    h = (np.arange(height * width * 3, dtype=np.uint64) + 7919 * seed) * 2654435761 % 2**32
    h = (h ^ (h >> 15)) * 2246822519 % 2**32
    return ((h ^ (h >> 13)) & 255).astype(np.uint8).reshape(height, width, 3)


SIZES = [(17, 23), (30, 11), (12, 14), (9, 10), (25, 26), (40, 40)]
IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


def recipes():
    for mode in ("center", "squash", "border"):
        for side in ([12, 12], [11, 14]):
            for pct in (0.82, 1.0):
                yield {"input_size": [3, *side], "crop_mode": mode, "crop_pct": pct, "interpolation": "bilinear", **IMAGENET}
    yield {"input_size": [3, 9, 9], "interpolation": "nearest", "crop_pct": 0.6}
    yield {"input_size": [3, 9, 9], "interpolation": "box", "crop_mode": "border", "crop_pct": 1.4, "mean": [0.9, 0.1, 0.5]}
    yield {"input_size": [3, 9, 9], "interpolation": "lanczos", "crop_mode": "border", "crop_pct": 0.5, "mean": [0.3, 0.3, 0.3]}
    yield {"input_size": [3, 9, 9]}
    yield {"input_size": [3, 10, 10], "crop_pct": None, "crop_mode": "", "interpolation": "", "mean": None, "std": None}


def main():
    out, cases, blob = Path(__file__).parent / "preprocess", [], []
    for seed, cfg in enumerate(recipes()):
        transform = timm.data.create_transform(**timm.data.resolve_data_config(pretrained_cfg=cfg))
        for h, w in SIZES:
            result = transform(Image.fromarray(picture(h, w, seed))).numpy()
            cases.append({"pretrained_cfg": cfg, "kind": "noise", "seed": seed, "from": [h, w], "shape": list(result.shape),
                          "at": sum(b.size for b in blob)})
            blob.append(result.astype("<f4").ravel())
    lines = ",\n ".join(json.dumps(c) for c in cases)
    (out / "timm_recipes.json").write_text(
        f'{{"pillow": "{PIL.__version__}", "timm": "{timm.__version__}", "cases": [\n {lines}\n]}}\n')
    (out / "timm_recipes.bin").write_bytes(np.concatenate(blob).tobytes())


if __name__ == "__main__":
    main()
