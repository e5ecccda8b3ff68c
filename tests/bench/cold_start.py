#!/usr/bin/env python3
"""From the start of a process to the first label: vitrine classify beside transformers' pipeline and timm.

    cold_start.py VITRINE [--picture FILE] [--rounds 7] [--threads N] [--arguments="--precision bf16"] [--json FILE]

Runs in an environment of peers_requirements.txt. The model is a ViT-B/16 with random weights, 1,000 labels and its picture recipe, as
transformers' save_pretrained writes it, and the same weights as a timm folder; files are in the page cache. In each round every
program is started once, in another order each time, and all must name the same class. A ratio is (time of theirs) / (time of ours) of the
same round; printed are its median, the 10th and the 90th percentile, and the most memory that each had (ru_maxrss).
"""
import argparse
import json
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

PICTURE = pathlib.Path(__file__).resolve().parent.parent.parent / "data" / "images" / "chelsea.png"
PIPELINE = """
import sys
from transformers import pipeline
classify = pipeline("image-classification", model=sys.argv[1], device="cpu")
print(classify(sys.argv[2], top_k=1)[0]["label"])
"""
TIMM = """
import sys
import timm
import torch
from PIL import Image
model = timm.create_model(f"local-dir:{sys.argv[1]}", pretrained=True).eval()
transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
with torch.inference_mode():
    logits = model(transform(Image.open(sys.argv[2]).convert("RGB")).unsqueeze(0))
print(model.pretrained_cfg["label_names"][logits.argmax().item()])
"""


# ------------------------------------------------------------------------------------------ files
NAMES = [("vit.embeddings.cls_token", "cls_token"), ("vit.embeddings.position_embeddings", "pos_embed"),
         ("vit.embeddings.patch_embeddings.projection", "patch_embed.proj"), ("vit.layernorm", "norm"), ("classifier", "head"),
         ("vit.encoder.layer", "blocks"), ("layernorm_before", "norm1"), ("layernorm_after", "norm2"),
         ("attention.output.dense", "attn.proj"), ("intermediate.dense", "mlp.fc1"), ("output.dense", "mlp.fc2")]


def timm_tensors(file):
    """Those of transformers' ViT as timm has them: other names, and q, k and v in one."""
    import torch
    from safetensors.torch import load_file
    result, parts = {}, {}
    for name, value in load_file(file).items():
        for theirs, ours in NAMES:
            name = name.replace(theirs, ours)
        before, _, after = name.partition(".attention.attention.")
        if after:
            part, _, end = after.partition(".")
            parts.setdefault(f"{before}.attn.qkv.{end}", {})[part] = value
        else:
            result[name] = value
    return result | {name: torch.cat([of["query"], of["key"], of["value"]]) for name, of in parts.items()}


def write_models(folder):
    import timm
    import torch
    import transformers
    from timm.models import _hub
    torch.manual_seed(1)
    labels = [f"class {index}" for index in range(1000)]
    config = transformers.ViTConfig(layer_norm_eps=1e-6, id2label=dict(enumerate(labels)),
                                    label2id={name: index for index, name in enumerate(labels)})
    model = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():    # livelier than the initial ones
            parameter.add_(torch.randn_like(parameter) * 0.02)
    model.save_pretrained(folder / "transformers")
    transformers.ViTImageProcessor().save_pretrained(folder / "transformers")
    theirs = timm.create_model("vit_base_patch16_224", pretrained=False)
    theirs.pretrained_cfg.update(architecture="vit_base_patch16_224", label_names=labels, interpolation="bilinear", crop_pct=1.0,
                                 crop_mode="squash", mean=(0.5,) * 3, std=(0.5,) * 3)
    theirs.load_state_dict(timm_tensors(folder / "transformers" / "model.safetensors"))
    _hub.save_for_hf(theirs, folder / "timm", model_config={"num_classes": 1000, "label_names": labels}, safe_serialization=True)


# ------------------------------------------------------------------------------------------ measurement
def run(words, environment):
    """(seconds, MiB, standard output) of a process."""
    with tempfile.TemporaryFile("w+") as out:
        begin = time.perf_counter()
        child = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                                 env={**os.environ, **environment})
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{shlex.join(map(str, words))} ended with code {child.returncode}")
        out.seek(0)
        return seconds, usage.ru_maxrss / 1024, out.read()


def label_of(output):
    """Of vitrine's JSON line, or of the line that the scripts print."""
    if output.startswith("{"):
        return json.loads(output)["predictions"][0]["label"]
    return output.strip().splitlines()[-1]


def measure(programs, rounds, environment):
    """{name: {"seconds": [of each round], "mib": the most}}"""
    results = {name: {"seconds": [], "mib": 0.0} for name in programs}
    for number in range(-1, rounds):            # the first reads the files into the page cache
        labels = {}
        for name in random.sample(list(programs), len(programs)):
            seconds, mib, output = run(programs[name], environment)
            labels[name] = label_of(output)
            if number >= 0:
                results[name]["seconds"].append(seconds)
                results[name]["mib"] = max(results[name]["mib"], mib)
        if len(set(labels.values())) > 1:
            raise SystemExit(f"not the same label: {labels}")
    return results


def table(results):
    ours = results["Vitrine"]["seconds"]
    yield "| program | start to first label, ms | times as long as Vitrine (10th–90th percentile) | peak memory, MiB |"
    yield "|---|---|---|---|"
    for name, result in results.items():
        low, middle, high = np.percentile([a / b for a, b in zip(result["seconds"], ours)], [10, 50, 90])
        ratio = "1" if name == "Vitrine" else f"{middle:.1f} ({low:.1f}–{high:.1f})"
        yield f"| {name} | {1e3 * statistics.median(result['seconds']):.0f} | {ratio} | {result['mib']:.0f} |"


def main():
    if sys.argv[1:2] == ["--write"]:
        return write_models(pathlib.Path(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vitrine", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--picture", type=pathlib.Path, default=PICTURE)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--arguments", type=shlex.split, default=[], help="more of them, for vitrine")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, help="keep the models there, and use those that are there")
    options = parser.parse_args()
    temporary = tempfile.TemporaryDirectory(prefix="vitrine-cold-start-")
    folder = options.folder or pathlib.Path(temporary.name)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "timm").exists():
        # By another process: ru_maxrss of a child counts what its parent had when it was started.
        subprocess.run([sys.executable, __file__, "--write", folder], check=True)
    threads = ["--threads", options.threads] if options.threads else []
    programs = {
        "Vitrine": [options.vitrine, "classify", "-q", "-m", folder / "transformers", options.picture, "-k", 1, "--format", "jsonl",
                    *threads, *options.arguments],
        "transformers pipeline": [sys.executable, "-c", PIPELINE, folder / "transformers", options.picture],
        "timm": [sys.executable, "-c", TIMM, folder / "timm", options.picture],
    }
    environment = {"HF_HUB_OFFLINE": "1"}
    if options.threads:
        environment["OMP_NUM_THREADS"] = str(options.threads)
    results = measure(programs, options.rounds, environment)
    print("\n".join(table(results)))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
