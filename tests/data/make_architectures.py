#!/usr/bin/env python3
"""Writes architectures.tsv: what the networks that --arch knows consist of, as the code they come from builds them.

    python3 make_architectures.py DINOV2 DINOV3 > architectures.tsv    # checkouts of facebookresearch/dinov2 and /dinov3

Needs timm 1.0.31, torchvision and torch, whose meta device keeps this small. Columns: name, parameters, tensors of a
checkpoint, and the 64-bit FNV-1a hash of their names and shapes, sorted, a line "NAME 768,3,16,16" for each. Tensors that
no network computes with when it runs are left out, and so are the parameters in them.
"""
import contextlib
import logging
import sys
import warnings

import torch

try:
    import tvstub  # noqa: F401  where PyPI's torchvision lies beside a torch without CUDA
except ImportError:
    pass
import timm
import torchvision
from timm.models._registry import _model_to_module

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

TRAINING = ("mask_token", "local_cls_norm.", "rope_embed.")    # DINOv2's and DINOv3's; bias_mask is a constant
DINOV2 = [f"dinov2_vit{size}14{registers}" for registers in ("", "_reg") for size in "sblg"]
DINOV3 = [f"dinov3_vit{size}" for size in ("s16", "s16plus", "b16", "l16", "l16plus", "h16plus", "7b16")]


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def line(name, build):
    with torch.device("meta"), contextlib.redirect_stdout(sys.stderr):
        model = build()
    used = {k: v for k, v in model.state_dict().items() if not k.startswith(TRAINING) and not k.endswith("bias_mask")}
    parameters = sum(p.numel() for k, p in model.named_parameters() if k in used)
    if name.startswith("dinov3"):    # the masked third
        parameters -= sum(v.numel() // 3 for k, v in used.items() if k.endswith("attn.qkv.bias"))
    text = "".join(f"{k} {','.join(str(n) for n in used[k].shape)}\n" for k in sorted(used))
    print(f"{name}\t{parameters}\t{len(used)}\t{fnv1a(text):016x}")


def main():
    sys.path[:0] = sys.argv[1:3]
    from dinov2.hub import backbones as dinov2
    from dinov3.hub import backbones as dinov3
    for name in timm.list_models():
        if _model_to_module.get(name) in {"vision_transformer", "deit", "beit", "eva"}:
            line(name, lambda: timm.create_model(name))
    for name in ("vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14"):
        line(name, getattr(torchvision.models, name))
    for names, module in ((DINOV2, dinov2), (DINOV3, dinov3)):
        for name in names:
            line(name, lambda: getattr(module, name)(pretrained=False))


if __name__ == "__main__":
    main()
