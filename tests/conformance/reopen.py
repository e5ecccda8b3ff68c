#!/usr/bin/env python3
"""What vitrine convert writes, opened by the libraries whose form it has: the same logits, on the pictures of the source's reference.

    reopen.py VITRINE MODELS

Every model of the folder MODELS (tests/data/models) is converted; transformers or timm opens the result, without a missing tensor,
and must compute what `vitrine run` computes on the source. Those of Hugging Face are also written by vitrine quantize, where Python has
compressed-tensors: opened with dequantize=True they must compute what `vitrine run --precision fp32` computes on the same folder.
Exit code 77 (skipped) where Python has neither library:
    pip install torch transformers==5.24.0 timm==1.0.31 safetensors compressed-tensors
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIP = 77
TOLERANCE = 1e-5
# timm cannot read this one's own config.json back: a class with arguments in JSON.
NOT_OPENED = {"timm_form_parallel_out_fused"}
# transformers 5.24 cannot dequantise what its table of names for DINOv2 has two rules for.
NOT_DEQUANTISED = "hf_dinov2"
os.environ["HF_HUB_OFFLINE"] = os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"


def available(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


def vitrine(command, *arguments):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments[:3]))}: {done.stderr.strip()}")


def open_transformers(folder, config, _):
    import torch
    import transformers
    transformers.utils.logging.disable_progress_bar()
    quantised = "quantization_config" in config
    extra = {"quantization_config": transformers.CompressedTensorsConfig(dequantize=True)} if quantised else {}
    model, info = getattr(transformers, config["architectures"][0]).from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, **extra)
    missing = sorted(info["missing_keys"]) + sorted(info["mismatched_keys"])
    assert not [name for name in missing if not name.startswith("pooler.")], f"missing: {missing}"
    resample = config["model_type"] in ("vit", "deit", "vit_msn", "ijepa", "clip", "siglip")
    arguments = {"interpolate_pos_encoding": True} if resample else {}

    def run(pixels):
        out = model(pixel_values=pixels, **arguments)
        if getattr(out, "logits", None) is not None:
            return "logits", out.logits
        pooled = None if missing else getattr(out, "pooler_output", None)  # of a pooler without weights
        return "features", pooled if pooled is not None else out.last_hidden_state[:, 0]
    return model, run


def open_timm(folder, config, pixels):
    import timm
    resized = {"img_size": tuple(pixels.shape[-2:])} if config["architecture"].startswith("beit") else {}
    model = timm.create_model(f"local-dir:{folder}", pretrained=True, **resized)
    return model, lambda pixels: ("logits" if model.num_classes else "features", model(pixels))


def check(command, source, weights, folder, form):
    """How far the library's result is from ours; nothing if the library is not there, or has no such network."""
    import torch
    from safetensors.torch import load_file, save_file
    write = ("quantize",) if form == "int8" else ("convert", "--dtype", "fp32", "--to", form)
    try:
        vitrine(command, *write, "-m", weights, "-o", folder, "-q")
    except RuntimeError as refused:
        if "transformers has no" in str(refused):
            return None
        raise
    config = json.loads((folder / "config.json").read_text())
    is_timm = "architecture" in config
    if not available("timm" if is_timm else "transformers"):
        return None
    pixels = load_file(source / "expected.safetensors")["pixel_values"]
    converted = not source.name.startswith(("hf_", "timm_"))  # libraries resize positions by rules of their own
    if converted and config.get("image_size"):
        pixels = torch.randn(2, pixels.shape[1], *(2 * [config["image_size"]] if isinstance(config["image_size"], int) else config["image_size"]))
    model, run = (open_timm if is_timm else open_transformers)(str(folder), config, pixels)
    save_file({"pixel_values": pixels.contiguous()}, folder / "input.safetensors")
    with torch.no_grad():
        name, theirs = run(pixels) if model.eval() else None
    vitrine(command, "run", "-m", folder if form == "int8" else weights, "--precision", "fp32", "--input", folder / "input.safetensors",
            "-o", folder / "ours.safetensors", "--outputs", name, "-q")
    ours = load_file(folder / "ours.safetensors")[name]
    assert ours.shape == theirs.shape, f"{tuple(ours.shape)}, theirs {tuple(theirs.shape)}"
    assert theirs.abs().max() > 0
    return float((ours - theirs).abs().max() / theirs.abs().max())


def main(command, models):
    if not available("torch", "safetensors"):
        print("there is no torch: skipped")
        return SKIP
    failed, compared = 0, 0
    with tempfile.TemporaryDirectory() as work:
        sources = sorted(p for p in pathlib.Path(models).iterdir() if (p / "expected.safetensors").exists())
        weights = {source: next((p for p in source.iterdir() if p.suffix in (".pth", ".bin", ".npz")), source) for source in sources}
        variants = [(source, "auto") for source in sources if source.name not in NOT_OPENED]
        variants += [(source, "transformers") for source in sources if source.name.startswith(("timm_vit", "tv_"))
                     and "dynamic" not in source.name]  # transformers resizes positions by another rule
        if available("compressed_tensors"):
            variants += [(source, "int8") for source in sources
                         if source.name.startswith("hf_") and not source.name.startswith(NOT_DEQUANTISED)]
        for source, form in variants:
            try:
                error = check(command, source, weights[source], pathlib.Path(work) / f"{source.name}-{form}", form)
            except Exception as problem:  # one model must not hide the others
                print(f"{source.name} as {form}: {type(problem).__name__}: {str(problem)[:300]}")
                failed += 1
                continue
            compared += error is not None
            if error is not None and not error <= TOLERANCE:
                print(f"{source.name} as {form}: off by {error:.2g} of the largest value")
                failed += 1
    print(f"{compared} models opened, {failed} failed")
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
