#!/usr/bin/env python3
"""Writes into tests/data/preprocess/ what PyTorch makes of pictures in floating point.

    python make_float_resize.py [OUT]      # needs torch, torchvision, transformers 5.24.0, Pillow and numpy

resize_float.json    torchvision's resize of the picture times 1/255: sizes, filter, and where ("at") the result lies in resize_float.bin
recipes_float.json   DINOv3ViTImageProcessor: as recipes.json of make_preprocess.py, tensors in recipes_float.bin
"""
import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    import tvstub  # noqa: F401  where PyPI's torchvision lies beside a torch without CUDA
except ImportError:
    pass
import json

import torch
import torchvision
import transformers
from PIL import Image
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional

from make_preprocess import picture

SIZES = [
    (1, 1, 1, 1), (1, 1, 3, 5), (2, 2, 1, 1), (2, 3, 7, 5), (5, 4, 5, 9), (5, 4, 9, 4), (7, 5, 3, 5), (16, 16, 16, 16), (13, 17, 24, 24),
    (24, 24, 13, 17), (31, 33, 33, 31), (40, 60, 24, 36), (61, 47, 8, 9), (100, 3, 11, 11), (3, 100, 11, 11), (9, 301, 5, 12),
    (64, 64, 32, 32), (97, 101, 27, 28), (2, 3000, 3, 4), (300, 200, 1, 2), (10, 10, 7, 3), (224, 224, 9, 10),
]
FILTERS = {"bilinear": InterpolationMode.BILINEAR, "bicubic": InterpolationMode.BICUBIC, "nearest": InterpolationMode.NEAREST_EXACT}


def recipes():
    """(what it shows, preprocessor_config.json, pictures)"""
    base = {"image_processor_type": "DINOv3ViTImageProcessorFast", "size": {"height": 12, "width": 14}}
    some = [(17, 23), (30, 11), (12, 14), (5, 6)]
    yield "as published", base, some
    yield "bicubic", {**base, "resample": 3}, some[:2]
    yield "nearest", {**base, "resample": 0}, some[:2]
    yield "crop", {**base, "do_center_crop": True, "crop_size": {"height": 9, "width": 9}}, some[:1]
    yield "crop with padding", {**base, "do_center_crop": True, "crop_size": {"height": 15, "width": 9}}, some[:1]
    yield "shortest edge", {**base, "size": {"shortest_edge": 9}}, some[:2]
    yield "another factor", {**base, "rescale_factor": 1 / 127.5, "image_mean": [1.0, 0.9, 1.1]}, some[:1]
    yield "no normalize", {**base, "do_normalize": False}, some[:1]
    yield "no resize", {**base, "do_resize": False}, some[:1]


def write(out, name, cases, blob):
    lines = ",\n ".join(json.dumps(c) for c in cases)
    versions = f'"torch": "{torch.__version__}", "torchvision": "{torchvision.__version__}", "transformers": "{transformers.__version__}"'
    (out / f"{name}.json").write_text(f'{{{versions}, "cases": [\n {lines}\n]}}\n')
    (out / f"{name}.bin").write_bytes(np.concatenate(blob).astype("<f4").tobytes())


def main():
    torch.set_num_threads(1)
    out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "preprocess")
    cases, blob = [], []
    for seed, (h, w, oh, ow) in enumerate(SIZES):
        for name, mode in FILTERS.items():
            pixels = torch.from_numpy(picture("noise", h, w, seed)).permute(2, 0, 1).float() * (1 / 255)
            result = functional.resize(pixels[None], [oh, ow], interpolation=mode, antialias=True)[0]
            cases.append({"kind": "noise", "seed": seed, "from": [h, w], "to": [oh, ow], "filter": name,
                          "at": sum(b.size for b in blob)})
            blob.append(result.numpy().ravel())
    write(out, "resize_float", cases, blob)
    cases, blob = [], []
    for seed, (name, config, sizes) in enumerate(recipes()):
        for h, w in sizes:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "preprocessor_config.json").write_text(json.dumps(config))
                processor = transformers.AutoImageProcessor.from_pretrained(folder)
            image = Image.fromarray(picture("noise", h, w, seed))
            result = np.asarray(processor(images=image, return_tensors="pt")["pixel_values"])[0]
            cases.append({"name": name, "config": config, "kind": "noise", "seed": seed, "from": [h, w],
                          "shape": list(result.shape), "at": sum(b.size for b in blob)})
            blob.append(result.ravel())
    write(out, "recipes_float", cases, blob)


if __name__ == "__main__":
    main()
