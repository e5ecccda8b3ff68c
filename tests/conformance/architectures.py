#!/usr/bin/env python3
"""vitrine info --arch NAME against the kit's table of what timm registers: parameters, every tensor's name and shape, and the picture
recipe of every pretrained tag. At most TEN architectures may be refused, and must be by name.

    architectures.py TIMM_JSON VITRINE
"""
import json
import math
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TEN = 10
SKIP = 77


def info(vitrine, name):
    done = subprocess.run([vitrine, "info", "--arch", name, "--format", "json"], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout), ""
    assert done.returncode == 3 and name.partition(".")[0] in done.stderr, f"{name}: exit {done.returncode}: {done.stderr}"
    return None, done.stderr.strip()


def expanded(tensors, depth):
    table = {}
    for name, shape in tensors.items():
        for block in range(depth) if "blocks.*." in name else [0]:
            table[name.replace("blocks.*.", f"blocks.{block}.")] = shape
    return table


def check_architecture(name, expected, got):
    """Lines that say what differs."""
    if got["parameters"] != expected["parameters"]:
        yield f"{name}: {got['parameters']} parameters, expected {expected['parameters']}"
    table = expanded(expected["tensors"], expected["depth"])
    for tensor in sorted(table.keys() | got["tensors"].keys()):
        if table.get(tensor) != got["tensors"].get(tensor):
            yield f"{name}: {tensor} is {got['tensors'].get(tensor)}, expected {table.get(tensor)}"


def check_recipe(tag, cfg, got):
    recipe = got["recipe"]
    _, *size = cfg["input_size"]
    scaled = [math.floor(side / cfg["crop_pct"]) for side in size]
    resize = {"squash": {"size": scaled}, "border": {"fit": scaled}}.get(
        cfg["crop_mode"], {"shortest_edge": scaled[0]} if scaled[0] == scaled[1] else {"cover": scaled})
    resize["interpolation"] = cfg["interpolation"]
    wanted = {"center_crop": size, "resize": resize, "mean": cfg["mean"], "std": cfg["std"]}
    for key, value in wanted.items():
        if recipe[key] != value:
            yield f"{tag}: {key} is {recipe[key]}, expected {value}"
    if got["config"]["num_classes"] != cfg["num_classes"]:
        yield f"{tag}: {got['config']['num_classes']} classes, expected {cfg['num_classes']}"


def main(kit, vitrine):
    if not pathlib.Path(kit).exists():
        print(f"{kit} is not there: skipped")
        return SKIP
    known = json.loads(pathlib.Path(kit).read_text())
    names = list(known["architectures"]) + list(known["pretrained"])
    with ThreadPoolExecutor() as pool:
        answers = dict(zip(names, pool.map(lambda name: info(vitrine, name), names)))
    wrong, refused = [], []
    for name, expected in known["architectures"].items():
        got, message = answers[name]
        wrong += list(check_architecture(name, expected, got)) if got else []
        refused += [] if got else [message]
    recipes = 0
    for tag, cfg in known["pretrained"].items():
        got, _ = answers[tag]
        if got:
            recipes += 1
            wrong += check_recipe(tag, cfg, got)
    for line in wrong + refused:
        print(line)
    print(f"{len(known['architectures']) - len(refused)} architectures, {len(refused)} refused, {recipes} recipes, {len(wrong)} differences")
    return 1 if wrong or len(refused) > TEN or recipes < len(known["pretrained"]) * 9 // 10 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
