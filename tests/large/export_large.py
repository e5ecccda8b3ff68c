"""Exports a network of ViT-g's size (1.0e9 weights, 4 GB), which an ONNX file cannot hold alone.

    export_large.py VITRINE FOLDER [PYTHON_WITH_ONNXRUNTIME]

Checks: external data by itself, peak memory below weights + 300 MB, the file loads from another working directory and
after its folder was renamed, and the model.onnx runs again. FOLDER needs 9 GB. Exit code 77: not enough room.
"""
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

HIDDEN, LAYERS, HEADS, MLP, PATCH, IMAGE, CLASSES = 1408, 40, 16, 6144, 14, 28, 10   # few tokens: the size is in the weights
SPARE = 300e6


def tensors():
    d, f, n = HIDDEN, MLP, (IMAGE // PATCH) ** 2 + 1
    yield "vit.embeddings.cls_token", (1, 1, d)
    yield "vit.embeddings.position_embeddings", (1, n, d)
    yield "vit.embeddings.patch_embeddings.projection.weight", (d, 3, PATCH, PATCH)
    yield "vit.embeddings.patch_embeddings.projection.bias", (d,)
    for i in range(LAYERS):
        p = f"vit.encoder.layer.{i}."
        for name, out, into in (("attention.attention.query", d, d), ("attention.attention.key", d, d),
                                ("attention.attention.value", d, d), ("attention.output.dense", d, d),
                                ("intermediate.dense", f, d), ("output.dense", d, f)):
            yield p + name + ".weight", (out, into)
            yield p + name + ".bias", (out,)
        for name in ("layernorm_before", "layernorm_after"):
            yield p + name + ".weight", (d,)
            yield p + name + ".bias", (d,)
    yield "vit.layernorm.weight", (d,)
    yield "vit.layernorm.bias", (d,)
    yield "classifier.weight", (CLASSES, d)
    yield "classifier.bias", (CLASSES,)


def write_model(folder):
    config = {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": HIDDEN, "image_size": IMAGE,
              "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": MLP, "patch_size": PATCH,
              "num_channels": 3, "hidden_act": "gelu", "layer_norm_eps": 1e-6, "qkv_bias": True,
              "id2label": {str(i): f"class {i}" for i in range(CLASSES)}}
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    header, end = {}, 0
    for name, shape in tensors():
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    rng = np.random.default_rng(0)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in tensors():
            scale = "layernorm" in name and name.endswith("weight")
            values = rng.standard_normal(int(np.prod(shape)), dtype=np.float32) * np.float32(0.02) + np.float32(scale)
            file.write(values.tobytes())
    return end


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    print(done.stdout + done.stderr, flush=True)
    if done.returncode != 0:
        sys.exit(f"{command[1]}: exit code {done.returncode}")
    return done.stdout


def logits_of(vitrine, model, pixels, folder):
    run([vitrine, "run", "-m", model, "--input", pixels, "-o", os.path.join(folder, "out.safetensors")], cwd=folder)
    with open(os.path.join(folder, "out.safetensors"), "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        begin, end = json.loads(file.read(length))["logits"]["data_offsets"]
        return np.frombuffer(file.read()[begin:end], np.float32)


def write_pixels(path):
    values = np.random.default_rng(1).standard_normal((2, 3, IMAGE, IMAGE), dtype=np.float32)
    text = json.dumps({"pixel_values": {"dtype": "F32", "shape": values.shape, "data_offsets": [0, values.nbytes]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + values.tobytes())
    return values


ORT = """
import sys, numpy as np, onnxruntime as ort
s = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
np.save(sys.argv[3], s.run(None, {"pixel_values": np.load(sys.argv[2])})[0])
"""


def check_onnxruntime(python, model, values, expected, folder):
    x, y = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
    np.save(x, values)
    run([python, "-c", ORT, model, x, y], cwd=folder)
    error = np.abs(np.load(y).ravel() - expected).max() / np.abs(expected).max()
    print(f"onnxruntime: error {error:.2g} of the largest logit")
    if not error <= 1e-4:
        sys.exit("onnxruntime computes something else")


def main():
    vitrine, parent = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(parent, exist_ok=True)
    if shutil.disk_usage(parent).free < 10e9:
        print(f"skipped: {parent} has less than 10 GB free")
        return 77
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "exported")
        os.makedirs(source)
        os.makedirs(target)
        weights = write_model(source)
        print(f"{weights / 1e9:.2f} GB of weights", flush=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        report = json.loads(run([vitrine, "export", "-m", source, "-o", "model.onnx", "--format", "json"], cwd=target))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        print(f"peak memory {peak / 1e6:.0f} MB, weights {weights / 1e6:.0f} MB (before: {before / 1024:.0f} MB)")
        if not peak < weights + SPARE:
            sys.exit(f"the exporter took {(peak - weights) / 1e6:.0f} MB more than the weights")
        if sorted(os.listdir(target)) != ["model.onnx", "model.onnx.data"] or not report["differences"]:
            sys.exit(f"found {os.listdir(target)}, report {report}")
        values = write_pixels(os.path.join(folder, "x.safetensors"))
        expected = logits_of(vitrine, source, os.path.join(folder, "x.safetensors"), folder)
        moved = os.path.join(folder, "moved", "elsewhere")
        os.makedirs(os.path.dirname(moved))
        os.rename(target, moved)
        got = logits_of(vitrine, os.path.join(moved, "model.onnx"), os.path.join(folder, "x.safetensors"), folder)
        if got.tobytes() != expected.tobytes():
            sys.exit("model.onnx gives other logits than its source")
        if len(sys.argv) > 3:
            check_onnxruntime(sys.argv[3], os.path.join(moved, "model.onnx"), values, expected, folder)
    print("all well")
    return 0


sys.exit(main())
