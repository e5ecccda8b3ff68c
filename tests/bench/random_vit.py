"""Folders with a Vision Transformer of random weights, as transformers' save_pretrained writes them; numpy alone.

A speed does not depend on what the weights are, and 350 MB of them need not lie in the repository.
"""
import json
import os
import struct

import numpy as np

SIZES = {"tiny": (192, 3), "small": (384, 6), "base": (768, 12)}  # hidden size, heads
LAYERS, PATCH, CLASSES = 12, 16, 1000


def shapes(hidden, image):
    """Names and shapes of ViTForImageClassification, in the order of the network."""
    mlp, tokens = 4 * hidden, (image // PATCH) ** 2 + 1
    yield "vit.embeddings.cls_token", (1, 1, hidden)
    yield "vit.embeddings.position_embeddings", (1, tokens, hidden)
    yield "vit.embeddings.patch_embeddings.projection.weight", (hidden, 3, PATCH, PATCH)
    yield "vit.embeddings.patch_embeddings.projection.bias", (hidden,)
    for i in range(LAYERS):
        block = f"vit.encoder.layer.{i}."
        linears = [(f"attention.attention.{x}", hidden, hidden) for x in ("query", "key", "value")]
        linears += [("attention.output.dense", hidden, hidden), ("intermediate.dense", mlp, hidden),
                    ("output.dense", hidden, mlp)]
        for name, out, into in linears:
            yield block + name + ".weight", (out, into)
            yield block + name + ".bias", (out,)
        for name in ("layernorm_before", "layernorm_after"):
            yield block + name + ".weight", (hidden,)
            yield block + name + ".bias", (hidden,)
    yield "vit.layernorm.weight", (hidden,)
    yield "vit.layernorm.bias", (hidden,)
    yield "classifier.weight", (CLASSES, hidden)
    yield "classifier.bias", (CLASSES,)


def write_safetensors(path, tensors):
    """`tensors`: (name, shape) pairs; values of σ = 0.02, made one tensor at a time."""
    tensors, offset, header = list(tensors), 0, {}
    for name, shape in tensors:
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(0)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors:
            file.write((random.standard_normal(int(np.prod(shape)), dtype=np.float32) * np.float32(0.02)).tobytes())


def make_folder(folder, size, image=224, recipe=None):
    """Writes `folder`, unless it is there. `size`: a key of SIZES. `recipe`: entries that replace ViT's own."""
    if os.path.exists(os.path.join(folder, "preprocessor_config.json")):
        return folder
    hidden, heads = SIZES[size]
    os.makedirs(folder, exist_ok=True)
    config = {"architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": hidden,
              "num_attention_heads": heads, "num_hidden_layers": LAYERS, "intermediate_size": 4 * hidden,
              "image_size": image, "patch_size": PATCH, "num_channels": 3, "hidden_act": "gelu", "qkv_bias": True,
              "layer_norm_eps": 1e-12, "id2label": {str(i): f"class {i}" for i in range(CLASSES)},
              "label2id": {f"class {i}": i for i in range(CLASSES)}}
    processor = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": image, "width": image},
                 "resample": 2, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
                 "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], **(recipe or {})}
    write_safetensors(os.path.join(folder, "model.safetensors"), shapes(hidden, image))
    for name, content in (("config.json", config), ("preprocessor_config.json", processor)):
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)
    return folder
