#!/usr/bin/env python3
"""`vitrine attention --format npy` against NumPy on the attention that `vitrine run` gives (and that the kit and the tests prove
equal to the references'): attention.py VITRINE FOLDER... where each FOLDER holds model folders with an image.png.

Exit code 77 (skipped, for ctest) without numpy; folders that are not there are left out.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
BOUND = 1e-5  # of the largest value; float32 attention, rolled out through every block


def vitrine(command, *arguments):
    result = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def read_safetensors(path):
    import numpy as np
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data, "<f4", offset=8 + size + entry["data_offsets"][0],
                                count=(entry["data_offsets"][1] - entry["data_offsets"][0]) // 4).reshape(entry["shape"])
            for name, entry in header.items()}


def weight_names(folder):
    """Of what lies there as safetensors."""
    names = set()
    for path in folder.glob("model*.safetensors"):
        with path.open("rb") as file:
            names.update(json.loads(file.read(int.from_bytes(file.read(8), "little"))))
    return names


def has_class_token(names):
    return any(name.endswith(("cls_token", "class_token", "class_embedding")) for name in names)


def expected(attentions, grid, class_token):
    """[L, h, T, T] -> heads [L, h, rows, columns], rollout [rows, columns], in float64."""
    import numpy as np
    tokens = attentions.shape[-1]
    prefix = tokens - grid[0] * grid[1]

    def to_patches(rows):
        looking = rows[..., 0, :] if class_token else rows[..., prefix:, :].mean(-2)
        return looking[..., prefix:].reshape(*looking.shape[:-1], *grid)

    product = np.eye(tokens)
    for block in attentions:
        mixed = 0.5 * block.mean(0) + 0.5 * np.eye(tokens)
        product = mixed / mixed.sum(-1, keepdims=True) @ product
    return to_patches(attentions), to_patches(product)


def check(command, folder, class_token, work):
    """What is wrong with a model, or nothing."""
    import numpy as np
    picture = folder / "image.png"
    calls = [("preprocess", "-m", folder, picture, "-o", work / "x.safetensors"),
             ("run", "-m", folder, "--input", work / "x.safetensors", "-o", work / "y.safetensors", "--outputs", "attentions"),
             ("attention", "-m", folder, picture, "-o", work / "heads.npy", "--block", "all", "--head", "all", "--force"),
             ("attention", "-m", folder, picture, "-o", work / "rollout.npy", "--rollout", "--force")]
    for call in calls:
        code, out, err = vitrine(command, *call)
        if code != 0:
            return f"{call[0]} ended with {code}: {err.strip()}"
    grid = json.loads(out)["grid"]
    tensors = read_safetensors(work / "y.safetensors")
    attentions = np.stack([tensors[f"attentions.{i}"][0] for i in range(len(tensors))]).astype(np.float64)
    for name, want in zip(("heads", "rollout"), expected(attentions, grid, class_token)):
        got = np.load(work / f"{name}.npy")
        if got.dtype != np.float32 or got.shape != want.shape:
            return f"{name}: {got.dtype} {got.shape}, expected float32 {want.shape}"
        error = np.abs(got - want).max() / np.abs(want).max()
        if not error <= BOUND:
            return f"{name}: off by {error:.1e} of the largest value"
    return None


def main(command, *folders):
    if importlib.util.find_spec("numpy") is None:
        print(f"skipped: {sys.executable} has no numpy")
        return SKIPPED
    models = [path.parent for folder in folders for path in sorted(pathlib.Path(folder).glob("*/image.png"))]
    failures = count = 0
    with tempfile.TemporaryDirectory(prefix="vitrine-attention-") as work:
        work = pathlib.Path(work)
        for model in models:
            names = weight_names(model)
            if not names or vitrine(command, "preprocess", "-m", model, model / "image.png", "-o", work / "x.safetensors")[0] == 3:
                continue  # other formats, no recipe, or refused: others test that
            problem = check(command, model, has_class_token(names), work)
            count += 1
            if problem:
                failures += 1
                print(f"FAIL {model.name}: {problem}")
    print(f"{count - failures} of {count} models")
    return 1 if failures or count < 20 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
