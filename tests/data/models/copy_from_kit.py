#!/usr/bin/env python3
"""Copies a few models of the conformance kit, with the parts of their expected tensors that the tests use.

    python3 copy_from_kit.py /path/to/kit
"""
import json
import pathlib
import shutil
import struct
import sys

MODELS = ["hf_vit_base", "hf_vit_v5_names", "hf_vit_sharded", "hf_vit_fp16", "hf_vit_bf16", "hf_vit_model_pooler_relu",
          "hf_vit_odd_dims", "hf_vit_nonsquare_patch", "hf_vit_labels_unordered", "hf_vit_interp_nonsquare",
          "hf_dinov2_larger", "hf_dinov2_model", "hf_dinov2_swiglu", "hf_dinov2_reg_larger", "timm_vit_qk_norm",
          "timm_vit_reg4_gap", "timm_vit_map", "timm_vit_clip_quickgelu", "timm_vit_dynamic_down", "timm_deit_distilled",
          "hf_vit_msn", "hf_deit_teacher", "hf_ijepa", "hf_clip", "hf_siglip_model", "hf_beit_larger",
          "hf_dinov3_gated_nonsquare", "timm_beit", "timm_eva02", "timm_dinov3", "tv_vit_representation", "tv_vit_eps6"]


def wanted(model, name):
    """float32 results on the prepared pixels, and what the PIL backend makes of image.png."""
    if name.endswith(("_f64", "_native")) or name.startswith("image.") and not model.startswith("timm"):
        return False
    return model in ("hf_vit_base", "hf_vit_odd_dims") or not name.startswith("attentions.")


def compact(model, source, target):
    data = source.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + size]), data[8 + size:]
    out, kept, at = {}, [], 0
    for name in sorted(n for n in header if n != "__metadata__" and wanted(model, n)):
        begin, end = header[name]["data_offsets"]
        out[name] = dict(header[name], data_offsets=[at, at + end - begin])
        kept.append(body[begin:end])
        at += end - begin
    text = json.dumps(out, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    target.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(kept))


def main():
    kit, here = pathlib.Path(sys.argv[1]) / "models", pathlib.Path(__file__).parent
    for model in MODELS:
        folder = here / model
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for source in sorted((kit / model).iterdir()):
            if source.name == "expected.safetensors":
                compact(model, source, folder / source.name)
            elif source.name != "case.json":
                (folder / source.name).write_bytes(source.read_bytes())
        case = json.loads((kit / model / "case.json").read_text())
        if "end_to_end" in case:
            end = case["end_to_end"]  # timm's models have no names for their classes
            top = end.get("pipeline_top_pil") or [
                {"label": f"LABEL_{t['index']}", "score": t["score"]} for t in end["softmax_top"]]
            (folder / "expected_top.json").write_text(json.dumps(top, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
