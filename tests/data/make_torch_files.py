#!/usr/bin/env python3
"""Writes tests/data/torch/: what torch.save and NumPy write, and the tensors that they hold.

    python tests/data/make_torch_files.py [OUT]      # needs torch 2.13.0, numpy 2.4.6 and safetensors

expected.safetensors     the tensors of tensors(), row-major, float64 narrowed to float32
zip.pth, protocol4.pth   torch's zip format                       compressed.pth   the same, deflated
legacy.pth, protocol1.pth  the format before torch 1.6
training.pth             a training checkpoint: averaged and plain weights, optimiser, arguments, NumPy's scalars and arrays
dino.pth                 a teacher and a student                  nested.pth       a state dict beside an epoch
parameters.pth           parameters, and one with attributes      tiny.pth, tiny_legacy.pth   one tensor
bad_*                    what is refused: TorchScript, a module, a call, an archive with another byte order, …
plain.npz, deflated.npz  NumPy's archives, with expected_npz.safetensors
bad_objects.npz          an array of Python objects

Rebuilt, the bytes differ where torch writes addresses (legacy formats) and identifiers; the tensors do not.
"""
import argparse
import collections
import io
import os
import pickle
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "torch")


def ramp(*shape, dtype=torch.float32, start=0.0):
    count = int(np.prod(shape))
    return (torch.arange(count, dtype=torch.float64) * 0.37 - 1.5 + start).reshape(shape).to(dtype)


def tensors():
    base = ramp(4, 6)
    tied = ramp(3, start=7)
    return collections.OrderedDict([
        ("f32", ramp(2, 3)), ("f16", ramp(5, dtype=torch.float16)), ("bf16", ramp(3, dtype=torch.bfloat16)),
        ("f64", ramp(2, 2, dtype=torch.float64) / 3), ("f64_transposed", (ramp(2, 3, dtype=torch.float64) / 3).t()),
        ("scalar", torch.tensor(2.5)), ("empty", torch.empty(0, 4)),
        ("i64", torch.arange(-2, 3)), ("i32", torch.arange(3, dtype=torch.int32)), ("i16", torch.arange(3, dtype=torch.int16)),
        ("i8", torch.tensor([-1, 1], dtype=torch.int8)), ("u8", torch.tensor([200, 3], dtype=torch.uint8)),
        ("bool", torch.tensor([True, False, True])), ("u16", torch.tensor([65535, 1], dtype=torch.uint16)),
        ("transposed", base.t()), ("rows", base[1:3]), ("columns", base[:, 2:5]), ("every_second", base[::2, 1::2]),
        ("channels_last", ramp(2, 3, 2, 2).contiguous(memory_format=torch.channels_last)),
        ("expanded", ramp(3).expand(2, 3)), ("tied_a", tied), ("tied_b", tied), ("bf16_transposed", ramp(2, 3, dtype=torch.bfloat16).t()),
    ])


def expected(values):
    return {k: (v.float() if v.dtype == torch.float64 else v).contiguous().clone() for k, v in values.items()}


def save(name, value, **options):
    torch.save(value, OUT / name, **options)


def rewritten(source, target, change=lambda name, data: data, method=zipfile.ZIP_STORED):
    """Copies an archive entry by entry; change gives the new bytes, or None to leave it out."""
    with zipfile.ZipFile(OUT / source) as old, zipfile.ZipFile(OUT / target, "w", method) as new:
        for info in old.infolist():
            data = change(info.filename, old.read(info))
            if data is not None:
                new.writestr(zipfile.ZipInfo(info.filename), data, method)


class Call:
    """Pickles as a call of something."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def good_files():
    values = tensors()
    save_file(expected(values), OUT / "expected.safetensors")
    save("zip.pth", values)
    save("protocol4.pth", values, pickle_protocol=4)
    legacy = {k: v for k, v in values.items() if k != "u16"}  # which the old format has no storage for
    save("legacy.pth", legacy, _use_new_zipfile_serialization=False)
    save("protocol1.pth", legacy, _use_new_zipfile_serialization=False, pickle_protocol=1)
    rewritten("zip.pth", "compressed.pth", method=zipfile.ZIP_DEFLATED)

    weights = torch.nn.Parameter(ramp(2))
    weights.note = "an attribute"
    save("parameters.pth", {"plain": torch.nn.Parameter(ramp(2, 2)), "with_attribute": weights, "none": None})
    save("tiny.pth", {"x": ramp(2)})
    save("tiny_legacy.pth", {"x": ramp(2)}, _use_new_zipfile_serialization=False)
    save("nested.pth", {"epoch": 3, "module": {"module.x": ramp(2)}, "lr": 1e-3})
    save("dino.pth", {"student": {"x": ramp(2)}, "teacher": {"x": ramp(2, start=1)}, "epoch": 100})

    parameter = torch.nn.Parameter(ramp(2))
    optimiser = torch.optim.AdamW([parameter], lr=1e-3)
    parameter.grad = torch.ones(2)
    optimiser.step()
    save("training.pth", {
        "arch": "vit_tiny", "epoch": np.int64(7), "metric": np.float64(81.5), "history": np.arange(3.0), "best": float("inf"),
        "big": 2 ** 80, "negative": -2 ** 40, "set": {1, 2}, "frozen": frozenset("a"), "bytes": b"\0\1", "complex": 1j,
        "args": argparse.Namespace(model="vit_tiny", lr=1e-3, sizes=[1, (2, 3)]), "counts": collections.Counter("aab"),
        "groups": collections.defaultdict(list, a=[1]), "size": torch.Size([1, 2]), "device": torch.device("cpu"), "dtype": torch.bfloat16,
        "optimizer": optimiser.state_dict(), "state_dict_ema": None, "model_ema": {"x": ramp(2, start=1)},
        "state_dict": {"x": ramp(2)}, "model": "not a state dict"})


def bad_files():
    save("bad_system.pth", {"x": ramp(2), "y": Call(os.system, "touch must-not-be-there")})
    save("bad_eval.pth", Call(eval, "1 + 1"))
    save("bad_module.pth", torch.nn.Linear(2, 2))
    save("bad_tensor.pth", ramp(2))
    save("bad_no_tensors.pth", {"epoch": 3, "args": argparse.Namespace(a=1)})
    torch.jit.script(torch.nn.Linear(1, 1)).save(str(OUT / "bad_torchscript.pt"))
    rewritten("tiny.pth", "bad_big_endian.pth", lambda name, data: b"big" if name.endswith("byteorder") else data)
    rewritten("tiny.pth", "bad_no_storage.pth", lambda name, data: None if name.endswith("data/0") else data)
    rewritten("tiny.pth", "bad_short_storage.pth", lambda name, data: data[:-1] if name.endswith("data/0") else data)
    rewritten("tiny.pth", "bad_bzip2.pth", method=zipfile.ZIP_BZIP2)
    with zipfile.ZipFile(OUT / "bad_unrelated.zip", "w") as archive:
        archive.writestr("readme.txt", "no weights")
    with open(OUT / "bad_plain_pickle.pkl", "wb") as file:
        pickle.dump({"x": np.arange(2.0)}, file, protocol=4)
    with tarfile.open(OUT / "bad_oldest.tar", "w") as archive:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())


def npz_files():
    arrays = {"Transformer/encoder_norm/scale": ramp(3).numpy(), "f16": ramp(2, 2, dtype=torch.float16).numpy(),
              "f64": (ramp(2, 2, dtype=torch.float64) / 3).numpy(), "fortran": np.asfortranarray(ramp(2, 3).numpy()),
              "fortran_f64": np.asfortranarray((ramp(2, 3, 2, dtype=torch.float64) / 3).numpy()), "i64": np.arange(3), "scalar": np.float32(2.5),
              "bool": np.array([True, False]), "empty": np.zeros((0, 3), np.float32)}
    save_file(expected({k: torch.from_numpy(np.array(v)) for k, v in arrays.items()}), OUT / "expected_npz.safetensors")
    np.savez(OUT / "plain.npz", **arrays, text=np.array(["a", "bc"]))
    np.savez_compressed(OUT / "deflated.npz", **arrays)
    np.savez(OUT / "bad_objects.npz", x=np.array([{}], dtype=object))


OUT.mkdir(exist_ok=True)
good_files()
bad_files()
npz_files()
