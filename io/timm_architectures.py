#!/usr/bin/env python3
"""Writes timm_architectures.cpp: what timm's entry points pass to their networks' classes, and the sizes and recipes of the weights
that it knows of each. Names and numbers only.

    pip install timm==1.0.31 && python3 timm_architectures.py > timm_architectures.cpp
"""
import functools
import json

import timm
from timm.models import beit, deit, eva, vision_transformer

MODULES = {"vision_transformer": vision_transformer, "deit": deit, "beit": beit, "eva": eva}
# How weights of other origin are brought into timm's form, and where features are tapped: nothing of the network's.
OUTSIDE = {"feature_cfg", "pretrained_filter_fn", "pretrained_strict", "weight_init"}
# What is the same nearly everywhere, or what a reader assumes when it is not there, is left out.
USUAL = {"interpolation": "bicubic", "crop_mode": "center", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
         "fixed_input_size": False}
NAMES = {"LayerNorm": "layernorm", "RmsNorm": "rmsnorm", "SiLU": "silu"}


class Captured(Exception):
    pass


def plain(value):
    """A class by its name, a partial class as [name, its arguments]."""
    if isinstance(value, functools.partial):
        return [plain(value.func), {key: plain(item) for key, item in value.keywords.items()}]
    if callable(value):
        return NAMES.get(value.__name__, value.__name__)
    return value


def arguments(name):
    captured = {}

    def build(model_class, variant, pretrained, **kwargs):
        captured.update(name=model_class.__name__, args=kwargs)
        raise Captured

    for module in MODULES.values():
        module.build_model_with_cfg = build
    try:
        timm.models.model_entrypoint(name)()
    except Captured:
        pass
    args = {key: plain(value) for key, value in captured["args"].items() if key not in OUTSIDE}
    return captured["name"], json.dumps(args, sort_keys=True, separators=(",", ":"))


def pretrained(name):
    """Rows of the architecture's weights: its default first."""
    default, tags = timm.models._registry._model_pretrained_cfgs.get(name), []
    for full, cfg in timm.models._registry._model_pretrained_cfgs.items():
        if full == name or full.startswith(name + "."):
            tags.append((full, cfg))
    first = (default.tag or "") if default is not None else ""
    seen = {}
    for full, cfg in tags:
        tag = full.partition(".")[2] or first
        row = {key: list(value) if isinstance(value, tuple) else value for key, value in cfg.to_dict().items()
               if key in ("num_classes", "input_size", "interpolation", "crop_pct", "crop_mode", "mean", "std", "fixed_input_size")
               and value is not None}
        seen[tag] = {key: value for key, value in row.items() if USUAL.get(key) != value}
    return sorted(seen.items(), key=lambda item: (item[0] != first, item[0]))


def main():
    print("// Written by timm_architectures.py from timm " + timm.__version__ + "; not to be edited.")
    print('#include "io/timm_architectures.hpp"\n\n#include <array>\n\nnamespace vit::io {\nnamespace {\n')
    print("// clang-format off")
    names = [name for name in timm.list_models() if timm.models._registry._model_to_module[name] in MODULES]
    print(f"constexpr std::array<TimmArchitecture, {len(names)}> kArchitectures{{{{")
    for name in sorted(names):
        model_class, args = arguments(name)
        print(f'    {{"{name}", "{model_class}", R"({args})"}},')
    rows = [(name, tag, cfg) for name in sorted(names) for tag, cfg in pretrained(name)]
    print("}};\n")
    print(f"constexpr std::array<TimmPretrained, {len(rows)}> kPretrained{{{{")
    for name, tag, cfg in rows:
        print(f'    {{"{name}", "{tag}", R"({json.dumps(cfg, sort_keys=True, separators=(",", ":"))})"}},')
    print("}};\n")
    former = {old: new for old, new in timm.models._registry._deprecated_models.items() if new and new.partition(".")[0] in names}
    print(f"constexpr std::array<TimmFormerName, {len(former)}> kFormerNames{{{{")
    for old, new in sorted(former.items()):
        print(f'    {{"{old}", "{new}"}},')
    print("}};\n// clang-format on\n\n}  // namespace\n")
    print("std::span<const TimmArchitecture> timm_architectures() {\n  return kArchitectures;\n}\n\n"
          "std::span<const TimmPretrained> timm_pretrained() {\n  return kPretrained;\n}\n\n"
          "std::span<const TimmFormerName> timm_former_names() {\n  return kFormerNames;\n}\n\n}  // namespace vit::io")


if __name__ == "__main__":
    main()
