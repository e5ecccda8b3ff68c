#!/usr/bin/env python3
"""Writes the hf_act_*, timm_act_* and timm_pool_* folders: tiny networks with an activation or a pooling that the others do not have.

    python3 make_activations.py [OUT]      # needs transformers 5.24.0, timm 1.0.31, torch and safetensors

Every value is seeded by the folder's name. Expected tensors are what the library computes from the folder it has just read.
"""
import os
import pathlib
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
try:
    import tvstub  # noqa: F401  stands in for torchvision where that is not installed
except ImportError:
    pass
import timm  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from timm.models import _hub  # noqa: E402

from make_timm_forms import generator, stages  # noqa: E402

HF = ["gelu_10", "relu2", "relu6", "leaky_relu", "hardswish", "mish", "laplace", "sqrtsoftplus"]
TIMM = ["elu", "celu", "selu", "hard_sigmoid", "hard_swish", "hard_mish"]
POOLS = {"max": ("vit_tiny_patch16_224", dict(class_token=False, reg_tokens=2)),
         "avgmax": ("vit_tiny_patch16_224", {}),
         "eva_avgmax": ("eva02_tiny_patch14_224", dict(global_pool="avgmax"))}


@torch.no_grad()
def randomise(model, name):
    """Inner states of an MLP up to 20, so that an activation is seen at its ends, too."""
    g = generator(name)
    for key, p in model.named_parameters():
        r = torch.randn(p.shape, generator=g)
        inner = "fc1" in key or "intermediate" in key or "mlp.up_proj" in key
        if key.endswith("bias"):
            value = 0.3 * r
        elif p.ndim == 1:
            value = 1 + 0.3 * r
        elif p.ndim == 3:
            value = 0.5 * r
        else:
            value = r * ((5 if inner else 1) / p[0].numel() ** 0.5)
        p.copy_(value)
    return model.eval()


def save(folder, again, compute, pixels):
    got = compute(again, pixels)
    exact = compute(again.double(), pixels.double())
    noise = max(float((got[k] - exact[k]).abs().max() / exact[k].abs().max()) for k in got)
    print(f"{folder.name}: float32 is off by {noise:.1e}")
    save_file({"pixel_values": pixels, **{k: v.float().contiguous() for k, v in got.items()}}, folder / "expected.safetensors")


@torch.no_grad()
def hf_stages(model, pixels):
    out = model(pixels, output_hidden_states=True)
    return {"logits": out.logits, **{f"hidden_states.{i}": h for i, h in enumerate(out.hidden_states)}}


def write_hf(folder, activation):
    config = transformers.ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
                                    image_size=24, patch_size=8, num_labels=3, hidden_act=activation)
    randomise(transformers.ViTForImageClassification(config), folder.name).save_pretrained(folder)
    again = transformers.ViTForImageClassification.from_pretrained(folder).eval()
    save(folder, again, hf_stages, torch.randn((3, 3, 24, 24), generator=generator(folder.name + "/pixels")))


def write_timm(folder, architecture, extra):
    args = dict(img_size=24, patch_size=8, embed_dim=24, depth=2, num_heads=2, mlp_ratio=2, num_classes=3, **extra)
    model = randomise(timm.create_model(architecture, **args), folder.name)
    model.pretrained_cfg.update(architecture=architecture)
    _hub.save_for_hf(model, folder, model_args=args, safe_serialization=True, data_config={"input_size": (3, 24, 24)})
    again = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    save(folder, again, stages, torch.randn((3, 3, 24, 24), generator=generator(folder.name + "/pixels")))


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    torch.set_num_threads(1)
    for activation in HF:
        write_hf(out / f"hf_act_{activation}", activation)
    for activation in TIMM:
        write_timm(out / f"timm_act_{activation}", "vit_tiny_patch16_224", dict(act_layer=activation))
    for name, (architecture, extra) in POOLS.items():
        write_timm(out / f"timm_pool_{name}", architecture, {"global_pool": name, **extra})


if __name__ == "__main__":
    main()
