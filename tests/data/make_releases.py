#!/usr/bin/env python3
"""Writes small random networks as the authors of DINOv2, DINOv3 and ViT publish theirs, with the tensors their code computes.

    python3 make_releases.py DINOV2 DINOV3 [OUT]    # checkouts of facebookresearch/dinov2 and /dinov3

Needs torch, timm 1.0.31, numpy and safetensors. Every value is seeded by the folder's name; the release folders have no
config.json, as the releases have none. Expected tensors are computed from the file that was written.
"""
import logging
import pathlib
import sys
import warnings
import zlib

import numpy
import torch
from safetensors.torch import save_file

try:
    import tvstub  # noqa: F401  where PyPI's torchvision lies beside a torch without CUDA
except ImportError:
    pass

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
torch.set_num_threads(1)

# folder: arguments of DinoVisionTransformer, height and width of the pictures
DINOV2 = {
    "dinov2_larger": (dict(num_heads=1), (84, 112)),
    "dinov2_swiglu_reg": (dict(num_heads=1, ffn_layer="swiglufused", num_register_tokens=2, interpolate_antialias=True,
                               interpolate_offset=0.0), (56, 84)),
}
DINOV3 = {
    "dinov3_mlp": (dict(embed_dim=64, num_heads=1, ffn_ratio=2, ffn_layer="mlp"), (48, 64)),
    "dinov3_swiglu": (dict(embed_dim=128, num_heads=2, ffn_ratio=0.75, ffn_layer="swiglu", patch_size=8), (24, 32)),
    # Like the network of seven billion parameters: no biases of q, k and v; a norm for training.
    "dinov3_no_qkv_bias": (dict(embed_dim=64, num_heads=1, ffn_ratio=3, ffn_layer="swiglu64", qkv_bias=False, depth=1,
                                patch_size=8, untie_global_and_local_cls_norm=True), (32, 32)),
}
# folder: timm's arguments, width of the layer before the head, height and width of the pictures
GOOGLE = {
    "google_vit": (dict(embed_dim=48, num_heads=3, num_classes=7), 0, (32, 32)),
    "google_vit_pre_logits_larger": (dict(embed_dim=40, num_heads=2, num_classes=5, dynamic_img_size=True), 24, (40, 48)),
    "google_vit_headless": (dict(embed_dim=32, num_heads=2, num_classes=0), 0, (32, 32)),
}


def generator(name):
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


@torch.no_grad()
def randomise(model, name):
    """Values of such sizes that a missing, swapped or transposed tensor shows in what the network computes."""
    g = generator(name)
    for key, p in model.named_parameters():
        r = torch.randn(p.shape, generator=g)
        if "pos_embed" in key or "token" in key:
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


@torch.no_grad()
def stages(model, pixels):
    """By transformers' names, as the tests call them."""
    found = {}

    def keep(name):
        def hook(_, __, out):
            found[name] = (out[0] if isinstance(out, list) else out).clone()
        return hook

    def keep_input(_, inputs):
        found["hidden_states.0"] = (inputs[0][0] if isinstance(inputs[0], list) else inputs[0]).clone()

    normed = []    # DINOv3's own code may norm the patches by themselves
    hooks = [model.blocks[0].register_forward_pre_hook(keep_input),
             model.norm.register_forward_hook(lambda _, __, out: normed.append(out.clone()))]
    for i, block in enumerate(model.blocks):
        hooks.append(block.register_forward_hook(keep(f"hidden_states.{i + 1}")))
    answer = model(pixels)
    for hook in hooks:
        hook.remove()
    found["last_hidden_state"] = torch.cat(normed, dim=1)
    found["features"] = found["last_hidden_state"][:, 0].clone()
    if answer.shape != found["features"].shape or not torch.equal(answer, found["features"]):
        found["logits"] = answer
    else:
        found["pooler_output"] = found.pop("features")
    return found


def write_expected(folder, model, picture):
    pixels = torch.randn((2, 3, *picture), generator=generator(folder.name + "/pixels"))
    got = stages(model, pixels)
    for module in model.modules():
        if type(module).__name__ == "RopePositionEmbedding":
            module.dtype = torch.float64
    exact = stages(model.double(), pixels.double())
    noise = max(float((got[k] - exact[k]).abs().max() / exact[k].abs().max()) for k in got)
    print(f"{folder.name}: float32 is off by {noise:.1e}, {sum(p.numel() for p in model.parameters())} parameters")
    save_file({"pixel_values": pixels, **{k: v.float().contiguous() for k, v in got.items()}}, folder / "expected.safetensors")


def write_release(out, name, file, model, picture):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), folder / file)
    model.load_state_dict(torch.load(folder / file, weights_only=True), strict=True)
    write_expected(folder, model, picture)


def write_dinov2(out):
    from dinov2.layers import MemEffAttention, NestedTensorBlock
    from dinov2.models.vision_transformer import DinoVisionTransformer
    from functools import partial
    for name, (args, picture) in DINOV2.items():
        model = DinoVisionTransformer(img_size=70, patch_size=14, embed_dim=64, depth=2, mlp_ratio=2, init_values=1.0,
                                      block_chunks=0, block_fn=partial(NestedTensorBlock, attn_class=MemEffAttention), **args)
        write_release(out, name, "weights.pth", randomise(model, name), picture)


def write_dinov3(out):
    from dinov3.models.vision_transformer import DinoVisionTransformer
    for name, (args, picture) in DINOV3.items():
        model = DinoVisionTransformer(**{**dict(depth=2, patch_size=16, layerscale_init=1e-5, norm_layer="layernormbf16",
                                                n_storage_tokens=4, mask_k_bias=True, pos_embed_rope_dtype="fp32",
                                                pos_embed_rope_rescale_coords=2), **args})
        model.init_weights()    # of the constants beside the parameters
        write_release(out, name, "weights.pth", randomise(model, name), picture)


def jax_tensors(model):
    """timm's tensors in Flax's names and layouts: the reverse of timm's _load_weights."""
    heads = model.blocks[0].attn.num_heads
    width = model.embed_dim
    tensors = {"cls": model.cls_token, "embedding/kernel": model.patch_embed.proj.weight.permute(2, 3, 1, 0),
               "embedding/bias": model.patch_embed.proj.bias,
               "Transformer/posembed_input/pos_embedding": model.pos_embed,
               "Transformer/encoder_norm/scale": model.norm.weight, "Transformer/encoder_norm/bias": model.norm.bias}
    for i, block in enumerate(model.blocks):
        prefix = f"Transformer/encoderblock_{i}/"
        attention = prefix + "MultiHeadDotProductAttention_1/"
        weights, biases = block.attn.qkv.weight.chunk(3), block.attn.qkv.bias.chunk(3)
        for part, weight, bias in zip(("query", "key", "value"), weights, biases):
            tensors[f"{attention}{part}/kernel"] = weight.T.reshape(width, heads, width // heads)
            tensors[f"{attention}{part}/bias"] = bias.reshape(heads, width // heads)
        tensors[f"{attention}out/kernel"] = block.attn.proj.weight.T.reshape(heads, width // heads, width)
        tensors[f"{attention}out/bias"] = block.attn.proj.bias
        for number, norm in ((0, block.norm1), (2, block.norm2)):
            tensors[f"{prefix}LayerNorm_{number}/scale"], tensors[f"{prefix}LayerNorm_{number}/bias"] = norm.weight, norm.bias
        for number, linear in enumerate((block.mlp.fc1, block.mlp.fc2)):
            tensors[f"{prefix}MlpBlock_3/Dense_{number}/kernel"] = linear.weight.T
            tensors[f"{prefix}MlpBlock_3/Dense_{number}/bias"] = linear.bias
    return tensors


def write_google(out):
    from timm.models.vision_transformer import VisionTransformer
    for name, (args, representation, picture) in GOOGLE.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        args = dict(img_size=32, patch_size=8, depth=2, mlp_ratio=2, **args)
        model = randomise(VisionTransformer(**args), name)
        tensors = jax_tensors(model)
        tail = torch.nn.Identity()
        if representation:    # timm has that layer no more: vit_jax/models_vit.py's Dense and tanh
            tail = torch.nn.Sequential(torch.nn.Linear(model.embed_dim, representation), torch.nn.Tanh(),
                                       torch.nn.Linear(representation, args["num_classes"]))
            randomise(tail, name + "/tail")
            tensors.update({"pre_logits/kernel": tail[0].weight.T, "pre_logits/bias": tail[0].bias})
        last = tail[2] if representation else model.head
        if args["num_classes"]:
            tensors.update({"head/kernel": last.weight.T, "head/bias": last.bias})
        numpy.savez(folder / "weights.npz", **{k: v.detach().contiguous().numpy() for k, v in tensors.items()})
        again = VisionTransformer(**{**args, **({"num_classes": 0} if representation else {})}).eval()
        with torch.no_grad():
            again.load_pretrained(str(folder / "weights.npz"))
        if representation:
            again.head = tail
        write_expected(folder, again, picture)


def main():
    sys.path[:0] = sys.argv[1:3]
    out = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else pathlib.Path(__file__).parent / "models"
    write_dinov2(out)
    write_dinov3(out)
    write_google(out)


if __name__ == "__main__":
    main()
