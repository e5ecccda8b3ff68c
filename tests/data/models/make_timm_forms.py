#!/usr/bin/env python3
"""Writes the timm_form_* folders: a small random network for each form that timm's architectures have beyond the plain ViT.

    python3 make_timm_forms.py [OUT]      # needs timm 1.0.31, torch and safetensors

Every value is seeded by the folder's name. Expected tensors are what timm computes from the folder it has just read.
"""
import json
import os
import pathlib
import sys
import zlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import timm  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from timm.models import _hub  # noqa: E402

torch.set_num_threads(1)

SMALL = dict(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=2, num_classes=5)
# folder: architecture, arguments, height and width of the pictures where they are others
CASES = {
    "aimv2": ("aimv2_large_patch14_224", {}, None),
    "rms_norm_larger": ("test_vit4", {}, (40, 56)),
    "map_of_all_tokens": ("test_vit3", {}, None),
    "perception_encoder": ("vit_pe_core_tiny_patch16_384", dict(attn_pool_num_heads=4, attn_pool_mlp_ratio=1.5, ref_feat_shape=(3, 3)), None),
    "rope_mixed": ("vit_small_patch16_rope_mixed_ape_224", dict(img_size=(24, 40)), None),
    "rope_mixed_rows_first": ("vit_small_patch16_rope_mixed_224", dict(rope_grid_indexing="ij", dynamic_img_size=True), (40, 24)),
    "post_norm": ("vit_base_patch16_rpn_224", {}, None),
    "eva_post_norm": ("eva02_enormous_patch14_clip_224", dict(mlp_ratio=2), None),
    "twin": ("vit_small_patch16_18x2_224", dict(mlp_ratio=2), None),
    "parallel": ("vit_pwee_patch16_reg1_gap_256", dict(mlp_ratio=2.5), None),
    "parallel_rms_norm": ("vit_base_patch16_xp_224", dict(mlp_ratio=2), None),
    "parallel_out_fused": ("vit_pwee_patch16_reg1_gap_256", dict(mlp_ratio=2, qkv_bias=False), None),
    "differential": ("vit_dwee_patch16_reg1_gap_256", dict(mlp_ratio=2), None),
    "differential_parallel": ("vit_dpwee_patch16_reg1_gap_256", dict(mlp_ratio=2, qk_norm=True), None),
    "grouped_heads": ("vit_large_patch16_sapiens2", dict(num_heads=4, depth=3, num_kv_heads=(4, 2, 4), mlp_ratio=2), None),
    "beit_larger": ("beit_base_patch16_224", dict(mlp_ratio=2), (40, 56)),
    "beit_smaller": ("beitv2_base_patch16_224", dict(mlp_ratio=2, img_size=48), (32, 24)),
}


def generator(name):
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


@torch.no_grad()
def randomise(model, name):
    """Values of such sizes that a missing, swapped or transposed tensor shows in the logits."""
    g = generator(name)
    for key, p in model.named_parameters():
        r = torch.randn(p.shape, generator=g)
        if "lambda_" in key:
            value = 0.3 * r
        elif "relative_position_bias_table" in key or key == "rope.freqs":
            value = 0.7 * r
        elif "pos_embed" in key or "token" in key or "latent" in key:
            value = 0.5 * r
        elif "gamma" in key:
            value = 0.3 + 0.9 * torch.rand(p.shape, generator=g)
        elif key.endswith("bias"):
            value = 0.3 * r
        elif p.ndim == 1:    # of norms
            value = 1 + 0.3 * r
        else:
            value = r * (1.5 / p[0].numel() ** 0.5)
        p.copy_(value)
    return model.eval()


def reloaded(folder, args, picture):
    """The folder as timm reads it; a network of relative positions is built for the size of the pictures."""
    if picture is None or args.get("dynamic_img_size") or not folder.name.startswith("timm_form_beit"):
        return timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    config = json.loads((folder / "config.json").read_text())
    model = timm.create_model(config["architecture"], **{**config["model_args"], "img_size": picture})
    state = timm.models.beit.checkpoint_filter_fn(load_file(folder / "model.safetensors"), model)
    model.load_state_dict(state)
    return model.eval()


@torch.no_grad()
def stages(model, pixels):
    found = {}

    def keep(name, value):
        found[name] = value.detach().clone()

    hooks = [model.blocks[0].register_forward_pre_hook(lambda _, inputs: keep("hidden_states.0", inputs[0]))]
    for i, block in enumerate(model.blocks):
        hooks.append(block.register_forward_hook(lambda _, __, out, i=i: keep(f"hidden_states.{i + 1}", out)))
    keep("last_hidden_state", model.forward_features(pixels))
    for hook in hooks:
        hook.remove()
    keep("features", model.forward_head(found["last_hidden_state"], pre_logits=True))
    keep("logits", model(pixels))
    return found


def write(out, name, architecture, extra, picture):
    folder = out / f"timm_form_{name}"
    folder.mkdir(parents=True, exist_ok=True)
    args = {**SMALL, **extra}
    model = timm.create_model(architecture, **args)
    if name == "parallel_out_fused":    # no architecture asks for it, but its class can
        from functools import partial
        args["block_fn"] = partial(timm.models.vision_transformer.ParallelScalingBlock, fuse_out_proj=True)
        model = timm.create_model(architecture, **args)
    randomise(model, name)
    side = args["img_size"]
    side = side if isinstance(side, tuple) else (side, side)
    if name == "parallel_out_fused":
        args["block_fn"] = ["ParallelScalingBlock", {"fuse_out_proj": True}]
    model.pretrained_cfg.update(architecture=architecture)
    _hub.save_for_hf(model, folder, model_args=args, safe_serialization=True,
                     data_config={"input_size": (3, *side)})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    height, width = picture or side
    pixels = torch.randn((3, 3, height, width), generator=generator(name + "/pixels"))
    again = model if name == "parallel_out_fused" else reloaded(folder, args, picture)
    got = stages(again, pixels)
    exact = stages(again.double(), pixels.double())
    noise = max(float((got[k] - exact[k]).abs().max() / exact[k].abs().max()) for k in got)
    print(f"{folder.name}: float32 is off by {noise:.1e}, {sum(p.numel() for p in model.parameters())} parameters")
    save_file({"pixel_values": pixels, **{k: v.float().contiguous() for k, v in got.items()}}, folder / "expected.safetensors")


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, (architecture, extra, picture) in CASES.items():
        write(out, name, architecture, extra, picture)


if __name__ == "__main__":
    main()
