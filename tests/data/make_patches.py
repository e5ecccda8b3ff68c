"""What timm makes of patch embeddings for patches of another size (resample_patch_embed, FlexiViT's pseudo-inverse resize). Written
to patches/, little-endian float32 [2, 1, rows, columns], as <from>_<to>.f32:

    pip install timm==1.0.31 torch==2.13.0 numpy && python make_patches.py
"""
import pathlib

import numpy as np
import torch
from timm.layers.patch_embed import resample_patch_embed

CASES = [((16, 16), (8, 8)), ((16, 16), (32, 32)), ((14, 14), (16, 20)), ((4, 7), (5, 3))]


def kernel(height, width):
    """Values without a pattern, exact in float32; patch_resize_test.cpp has the same."""
    d, y, x = np.meshgrid(np.arange(2), np.arange(height), np.arange(width), indexing="ij")
    return (((y * 733 + x * 1291 + d * 517 + y * x * 89) % 2048 - 1024).astype(np.float32) / 1024)[:, None]


here = pathlib.Path(__file__).parent / "patches"
for source, target in CASES:
    resized = resample_patch_embed(torch.from_numpy(kernel(*source)), list(target))
    name = "{}x{}_{}x{}.f32".format(*source, *target)
    resized.contiguous().numpy().astype("<f4").tofile(here / name)
