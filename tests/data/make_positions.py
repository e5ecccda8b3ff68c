"""What torch makes of a position table for another grid. Written to positions/, little-endian float32
[rows, columns, 2], as <from>_<to>.f32 and, by the other rules, <from>_<to>_RULE.f32 (rules, below):

    pip install torch==2.13.0 numpy && python make_positions.py
"""
import pathlib

import numpy as np
import torch

CASES = [((37, 37), (8, 8)), ((14, 14), (61, 61)), ((2, 8), (4, 4)), ((5, 3), (7, 11)), ((7, 7), (7, 6)), ((1, 1), (2, 3))]


def table(height, width):
    """Values without a pattern that interpolation could hide, exact in float32; position_embed_test.cpp has the same."""
    y, x, d = np.meshgrid(np.arange(height), np.arange(width), np.arange(2), indexing="ij")
    return ((y * 733 + x * 1291 + d * 517 + y * x * 89) % 2048 - 1024).astype(np.float32) / 1024


here = pathlib.Path(__file__).parent / "positions"
for source, target in CASES:
    grid = torch.from_numpy(table(*source)).permute(2, 0, 1)[None]
    rules = {
        "": {"size": target, "align_corners": False},
        "_antialias": {"size": target, "align_corners": False, "antialias": True},
        "_aligned": {"size": target, "align_corners": True},  # torchvision's interpolate_embeddings
        "_offset": {"scale_factor": [(to + 0.1) / of for to, of in zip(target, source)]},  # DINOv2's own code
    }
    for suffix, arguments in rules.items():
        resized = torch.nn.functional.interpolate(grid, mode="bicubic", **arguments)
        assert resized.shape[-2:] == target
        name = "{}x{}_{}x{}{}.f32".format(*source, *target, suffix)
        resized[0].permute(1, 2, 0).contiguous().numpy().astype("<f4").tofile(here / name)
