"""What transformers' attention says about small models of models/, by NumPy in float64. Written to attention/NAME.safetensors:

  heads    float32 [N, L, h, rows, columns]   attention from the class token to the patches (models without a class token: the
                                              mean over the patches as queries)
  rollout  float32 [N, rows, columns]         attention rollout (arXiv:2005.00928), the same queries and patches

for the pixel_values of the model's expected.safetensors. Recipe, with transformers 5.24.0 and torch 2.13:

    python3 make_attention.py
"""
import pathlib

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

HERE = pathlib.Path(__file__).parent

# name: class, tokens in front of the patches, whether the first is a class token
CASES = {
    "hf_vit_base": ("ViTForImageClassification", 1, True),
    "hf_vit_interp_nonsquare": ("ViTForImageClassification", 1, True),
    "hf_deit_teacher": ("DeiTForImageClassificationWithTeacher", 2, True),
    "hf_dinov2_reg_larger": ("Dinov2WithRegistersForImageClassification", 4, True),
    "hf_dinov3_gated_nonsquare": ("DINOv3ViTModel", 3, True),
    "hf_ijepa": ("IJepaForImageClassification", 0, False),
}


def attentions(name, class_name, pixels):
    model = getattr(transformers, class_name).from_pretrained(HERE / "models" / name, attn_implementation="eager").eval()
    options = {"interpolate_pos_encoding": True} if name.startswith(("hf_vit_interp", "hf_ijepa")) else {}
    with torch.no_grad():
        result = model(torch.from_numpy(pixels), output_attentions=True, **options)
    return model.config, np.stack([a.numpy().astype(np.float64) for a in result.attentions], 1)  # [N, L, h, T, T]


def rollout(maps):
    """[L, h, T, T] -> [T, T]"""
    product = np.eye(maps.shape[-1])
    for block in maps:
        mixed = 0.5 * block.mean(0) + 0.5 * np.eye(maps.shape[-1])
        product = mixed / mixed.sum(-1, keepdims=True) @ product
    return product


def main():
    (HERE / "attention").mkdir(exist_ok=True)
    for name, (class_name, prefix, class_token) in CASES.items():
        stored = load_file(HERE / "models" / name / "expected.safetensors")
        pixels = stored["pixel_values"]
        config, maps = attentions(name, class_name, pixels)
        for block in range(maps.shape[1]):
            if f"attentions.{block}" in stored:
                assert np.allclose(maps[:, block], stored[f"attentions.{block}"], atol=1e-6)
                maps[:, block] = stored[f"attentions.{block}"]  # those of the conformance kit
        patch = config.patch_size if isinstance(config.patch_size, (list, tuple)) else [config.patch_size] * 2
        grid = [side // p for side, p in zip(pixels.shape[2:], patch)]
        assert maps.shape[-1] == prefix + grid[0] * grid[1], (name, maps.shape, grid)

        def to_patches(rows):  # [..., T, T] -> [..., rows, columns]
            looking = rows[..., 0, :] if class_token else rows[..., prefix:, :].mean(-2)
            return looking[..., prefix:].reshape(*looking.shape[:-1], *grid).astype(np.float32)

        save_file({"heads": to_patches(maps), "rollout": to_patches(np.stack([rollout(m) for m in maps]))},
                  HERE / "attention" / f"{name}.safetensors")


if __name__ == "__main__":
    main()
