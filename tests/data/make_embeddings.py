"""What transformers and timm give for the image.png of small models of models/. Written to embeddings/NAME.safetensors:

  features  float32 [F]     what the classifier is given; of a model without one its pooler_output
  cls       float32 [D]     the class token of last_hidden_state, where there is one
  mean      float32 [D]     the mean of its patches' tokens, by NumPy in float64
  patches   float32 [N, D]  the tokens themselves

for the pixel values of image.png that expected.safetensors has from the library's own image processor. A model without image.png
is given that of hf_vit_base. Recipe, with transformers 5.24.0, timm 1.0.31 and torch 2.14:

    python3 make_embeddings.py
"""
import json
import pathlib

import numpy as np
import timm
import torch
import transformers
from safetensors.numpy import load_file, save_file

HERE = pathlib.Path(__file__).parent

# name: class of transformers or none (timm), tokens in front of the patches, whether the first is a class token
CASES = {
    "hf_vit_base": ("ViTForImageClassification", 1, True),
    "hf_vit_model_pooler_relu": ("ViTModel", 1, True),
    "hf_deit_teacher": ("DeiTForImageClassificationWithTeacher", 2, True),
    "hf_dinov2_reg_larger": ("Dinov2WithRegistersForImageClassification", 4, True),
    "hf_clip": ("CLIPForImageClassification", 1, True),
    "hf_ijepa": ("IJepaForImageClassification", 0, False),
    "timm_vit_map": (None, 0, False),
    "timm_vit_reg4_gap": (None, 4, False),
}


def pixels_of(name):
    stored = load_file(HERE / "models" / name / "expected.safetensors")
    for key in ("image_pil.pixel_values", "image.pixel_values"):
        if key in stored:
            return torch.from_numpy(stored[key])
    return pixels_of("hf_vit_base")


def given_to(layer, run):
    """What `layer` reads while `run` runs."""
    seen = []
    handle = layer.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    run()
    handle.remove()
    return seen[0]


def by_transformers(name, class_name, pixels):
    model = getattr(transformers, class_name).from_pretrained(HERE / "models" / name).eval()
    base = getattr(model, model.base_model_prefix, model) if class_name != "CLIPForImageClassification" else model.vision_model
    options = {"interpolate_pos_encoding": True} if name == "hf_ijepa" else {}
    output = base(pixels, **options)
    if base is model:
        return output.pooler_output, output.last_hidden_state
    head = getattr(model, "classifier", None) or model.cls_classifier
    return given_to(head, lambda: model(pixels, **options)), output.last_hidden_state


def by_timm(name, pixels):
    config = json.loads((HERE / "models" / name / "config.json").read_text())
    model = timm.create_model(config["architecture"], **config["model_args"]).eval()
    model.load_state_dict({k: torch.from_numpy(v) for k, v in load_file(HERE / "models" / name / "model.safetensors").items()})
    tokens = model.forward_features(pixels)
    return model.forward_head(tokens, pre_logits=True), tokens


def main():
    (HERE / "embeddings").mkdir(exist_ok=True)
    for name, (class_name, prefix, class_token) in CASES.items():
        pixels = pixels_of(name)
        with torch.no_grad():
            features, tokens = by_transformers(name, class_name, pixels) if class_name else by_timm(name, pixels)
        tokens = tokens[0].numpy()
        patches = tokens[prefix:]
        result = {"features": features[0].numpy(), "patches": patches, "mean": patches.astype(np.float64).mean(0).astype(np.float32)}
        if class_token:
            result["cls"] = tokens[0]
        result = {key: np.ascontiguousarray(value) for key, value in result.items()}
        save_file(result, HERE / "embeddings" / f"{name}.safetensors")
        print(name, {key: value.shape for key, value in result.items()})


if __name__ == "__main__":
    main()
