#!/usr/bin/env python3
"""Writes tests/data/preprocess/: what Pillow's resize and the Hugging Face processors (Pillow backend) make of pictures.

    python tests/data/make_preprocess.py [OUT [SEED]]      # needs Pillow 13.0.0, transformers 5.24.0 and numpy

resample.json     cases of Image.resize: picture, size, filter, and either the pixels ("at", in resample.bin) or, for large
                  results, their FNV-1a hash
recipes.json      cases of a whole recipe: picture, preprocessor_config.json, and the tensor ("at", in floats, and its shape, in
                  recipes.bin), or "refused" where the reference raises
The pictures are not stored: picture() is short enough to be written twice (tests/io/preprocess_data.cpp).
"""
import json
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
import PIL
import transformers
from PIL import Image
from transformers import AutoImageProcessor

FILTERS = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # Pillow's numbers
MAX_STORED = 3000  # pixels of a result that is stored


def picture(kind, height, width, seed):
    """Reproducible RGB pixels: "noise", or "edges", which is noise of 0 and 255 only."""
    h = (np.arange(height * width * 3, dtype=np.uint64) + 7919 * seed) * 2654435761 % 2**32
    h = (h ^ (h >> 15)) * 2246822519 % 2**32
    byte = ((h ^ (h >> 13)) & 255).astype(np.uint8)
    if kind == "edges":
        byte = np.where(byte < 128, 0, 255).astype(np.uint8)
    return byte.reshape(height, width, 3)


def fnv1a(data):
    h = 14695981039346656037
    for byte in data:
        h = (h ^ byte) * 1099511628211 % 2**64
    return f"{h:016x}"


def resample_cases(rng):
    """(height, width, new height, new width)"""
    sizes = [
        (1, 1, 1, 1), (1, 1, 5, 7), (1, 1, 224, 224), (2, 2, 1, 1), (2, 3, 7, 5), (3, 2, 2, 3), (5, 4, 5, 9), (5, 4, 9, 4),
        (7, 5, 7, 3), (7, 5, 3, 5), (16, 16, 16, 16), (13, 17, 24, 24), (24, 24, 13, 17), (31, 33, 33, 31), (40, 60, 24, 36),
        (61, 47, 24, 24), (100, 3, 24, 24), (3, 100, 24, 24), (9, 301, 12, 12), (301, 9, 12, 12), (64, 64, 32, 32),
        (480, 2, 224, 3), (97, 101, 27, 28), (2, 3000, 3, 24), (20000, 1, 224, 224), (1, 20000, 224, 224), (375, 500, 256, 341),
        (480, 640, 224, 298), (640, 480, 224, 224),
        # the height shrinks by just more, exactly, and just less than twice what the width does: the order of the passes
        (40, 30, 19, 20), (40, 30, 20, 20), (40, 30, 21, 20), (40, 20, 39, 30), (40, 20, 41, 45), (9, 8, 1, 5), (18, 7, 3, 1),
    ]
    sizes += [tuple(rng.choice([rng.randint(1, 9), rng.randint(1, 60)]) for _ in range(4)) for _ in range(12)]
    for number, (h, w, oh, ow) in enumerate(sizes):
        for f in range(6):
            yield "edges" if (number + f) % 3 == 0 else "noise", h, w, oh, ow, f, number


def write_resample(out, rng):
    cases, blob = [], b""
    for kind, h, w, oh, ow, f, seed in resample_cases(rng):
        pixels = np.asarray(Image.fromarray(picture(kind, h, w, seed)).resize((ow, oh), f)).tobytes()
        case = {"kind": kind, "seed": seed, "from": [h, w], "to": [oh, ow], "filter": FILTERS[f]}
        if oh * ow <= MAX_STORED:
            case["at"] = len(blob)
            blob += pixels
        else:
            case["hash"] = fnv1a(pixels)
        cases.append(case)
    write_cases(out / "resample.json", cases)
    (out / "resample.bin").write_bytes(blob)


NORM = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
SMALL = {"size": {"height": 12, "width": 14}}
EDGE = {"size": {"shortest_edge": 13}, "crop_size": {"height": 10, "width": 11}}


def recipes():
    """(what it shows, preprocessor_config.json, pictures)"""
    vit, deit, beit, clip, siglip, bit = (
        {"image_processor_type": f"{name}ImageProcessor"} for name in ("ViT", "DeiT", "Beit", "CLIP", "Siglip", "Bit"))
    some = [(17, 23), (30, 11), (12, 14), (5, 6)]
    yield "square", {**vit, **SMALL}, some
    for number, name in enumerate(FILTERS):
        yield name, {**vit, **NORM, "size": 9, "resample": number}, [(17, 23), (6, 5)]
    yield "crop of an odd margin", {**deit, "size": 13, "crop_size": 10}, [(17, 23)]
    yield "crop with padding on odd margins", {**deit, "size": 7, "crop_size": {"height": 10, "width": 12}}, [(17, 23)]
    yield "crop that cuts one side and pads the other", {**clip, **CLIP, "size": {"shortest_edge": 7}, "crop_size": 10}, \
        [(9, 23), (23, 9)]
    yield "shortest edge", {**bit, **NORM, **EDGE}, [(17, 23), (23, 17), (13, 40), (40, 13), (16, 16), (3, 200)]
    yield "shortest edge, no crop", {**clip, "size": 7, "do_center_crop": False}, [(17, 23), (23, 17), (7, 7), (9, 40)]
    yield "shortest and longest edge", {**clip, "size": {"shortest_edge": 10, "longest_edge": 15}, "do_center_crop": False}, \
        [(20, 24), (20, 41), (41, 20), (10, 15), (10, 16), (2, 29), (29, 2), (20, 39), (20, 40), (13, 30), (30, 13), (7, 16), (16, 7)]
    yield "picture too thin for the longest edge", {**clip, "size": {"shortest_edge": 10, "longest_edge": 15}}, [(1, 90)]
    yield "no resize, crop", {**deit, "do_resize": False, "crop_size": 10}, [(17, 23), (7, 8), (9, 30), (10, 10)]
    yield "no resize, no crop", {**vit, "do_resize": False}, [(4, 7), (9, 2)]
    yield "no rescale", {**vit, **SMALL, "do_rescale": False, "image_mean": [127.5, 120, 130.25], "image_std": [127.5, 60, 61]}, \
        some[:1]
    yield "no normalize", {**vit, **SMALL, "do_normalize": False}, some[:1]
    yield "no rescale, no normalize", {**vit, **SMALL, "do_rescale": False, "do_normalize": False}, some[:1]
    yield "another factor", {**vit, **SMALL, "rescale_factor": 1 / 127.5, "image_mean": 1.0, "image_std": [1, 1.1, 0.9]}, some[:1]
    yield "padding goes through another factor", {**deit, "size": 5, "crop_size": 8, "rescale_factor": 1 / 127.5,
                                                  "image_mean": [1, 0.9, 1.1]}, some[:1]
    yield "size as list", {**vit, "size": [9, 14]}, some[:1]
    yield "BEiT does not crop unless told", {**beit, "size": 12, "crop_size": 8}, some[:1]
    yield "BEiT told to crop", {**beit, "size": 12, "crop_size": 8, "do_center_crop": True}, some[:1]
    yield "a number is a square for ViT", {"feature_extractor_type": "ViTFeatureExtractor", "size": 12}, some[:1]
    yield "a number is the shortest edge for CLIP", {"feature_extractor_type": "CLIPFeatureExtractor", "size": 12,
                                                     "crop_size": 10}, some[:1]
    yield "a number is the shortest edge for SigLIP", {**siglip, "size": 12}, some[:1]
    yield "a number is a square for CLIP if the file says so", {**clip, "size": 12, "default_to_square": True,
                                                                "do_center_crop": False}, some[:1]
    yield "class of the torchvision backend", {"image_processor_type": "ViTImageProcessorFast", **SMALL}, some[:1]
    yield "nulls mean off", {**clip, "size": 9, "do_center_crop": None, "crop_size": None, "do_rescale": None,
                             "do_normalize": None}, some[:1]
    yield "null size", {**vit, "size": None}, some[:1]
    yield "null resample", {**vit, "size": 8, "resample": None}, some[:1]
    yield "null mean", {**vit, "size": 8, "image_mean": None}, some[:1]
    yield "null factor", {**vit, "size": 8, "rescale_factor": None}, some[:1]
    yield "null everything, unused", {**vit, "size": None, "resample": None, "image_mean": None, "image_std": None,
                                      "rescale_factor": None, "do_resize": False, "do_rescale": False,
                                      "do_normalize": False}, [(4, 7)]
    yield "crop without a size", {**vit, "size": 8, "do_center_crop": True}, some[:1]
    yield "null crop size", {**deit, "size": 8, "crop_size": None}, some[:1]
    yield "mean of one channel", {**vit, "size": 8, "image_mean": [0.5]}, some[:1]
    yield "longest edge alone", {**vit, "size": {"longest_edge": 8}}, some[:1]
    yield "height alone", {**vit, "size": {"height": 8}}, some[:1]
    yield "crop by shortest edge", {**deit, "size": 8, "crop_size": {"shortest_edge": 8}}, some[:1]


def apply(config, pixels):
    """The processor's pixel_values, or None where it raises."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "preprocessor_config.json").write_text(json.dumps(config))
        try:
            processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
            assert type(processor).__name__.endswith("Pil")
            return np.asarray(processor(images=Image.fromarray(pixels), return_tensors="np")["pixel_values"])[0]
        except (ValueError, IndexError, TypeError, AttributeError):
            return None


def write_recipes(out):
    cases, blob = [], []
    for seed, (name, config, sizes) in enumerate(recipes()):
        for h, w in sizes:
            case = {"name": name, "config": config, "kind": "noise", "seed": seed, "from": [h, w]}
            result = apply(config, picture("noise", h, w, seed))
            if result is None:
                case["refused"] = True
            else:
                case["shape"] = list(result.shape)
                case["at"] = sum(b.size for b in blob)
                blob.append(result.astype("<f4").ravel())
            cases.append(case)
    write_cases(out / "recipes.json", cases)
    (out / "recipes.bin").write_bytes(np.concatenate(blob).tobytes())


def write_cases(path, cases):
    lines = ",\n ".join(json.dumps(c) for c in cases)
    path.write_text(f'{{"pillow": "{PIL.__version__}", "transformers": "{transformers.__version__}", "cases": [\n {lines}\n]}}\n')


def main():
    transformers.logging.set_verbosity_error()
    out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "preprocess")
    out.mkdir(parents=True, exist_ok=True)
    write_resample(out, random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0))
    write_recipes(out)


if __name__ == "__main__":
    main()
