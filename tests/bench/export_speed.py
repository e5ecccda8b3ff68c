#!/usr/bin/env python3
"""Speed of our ONNX file of a ViT-S/16 against those of torch.onnx and optimum, made from the same weights.

    export_speed.py VITRINE [--optimum PYTHON] [--rounds 15] [--repeats 4] [--threads 1,2] [--runtimes ort,openvino]

Runs in an environment of export_speed_requirements.txt; PYTHON is that of one with optimum-onnx. All files are loaded in one
process and run in turns, in another order each round, and all of that some times, since where the weights come to lie in memory
matters too; ours is there twice, which shows how exact this is. A ratio is (time of theirs) / (time of ours) of the same round; above 1 we
are faster. Printed are its median and quartiles. One thread is timed by the processor time of the process, which other
programs hardly disturb, more threads by the clock: there the machine must be quiet.
"""
import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

OURS = "vitrine"


# ------------------------------------------------------------------------------------------ files
def write_torch(folder):
    """The checkpoint, and what torch.onnx makes of it."""
    import torch
    import transformers
    torch.manual_seed(1)
    config = transformers.ViTConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536,
                                    image_size=224, patch_size=16, num_labels=1000)
    model = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():       # livelier than the initial ones
            parameter.add_(torch.randn_like(parameter) * 0.02)
    model.save_pretrained(folder / "checkpoint")
    pixels = torch.randn(2, 3, 224, 224)

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, pixel_values):
            return self.model(pixel_values=pixel_values).logits

    with torch.no_grad():
        np.savez(folder / "expected.npz", pixels=pixels.numpy(), logits=model(pixel_values=pixels).logits.numpy())
    names = {"input_names": ["pixel_values"], "output_names": ["logits"]}
    torch.onnx.export(Logits(), (pixels,), folder / "torch dynamo.onnx", dynamo=True, external_data=False,
                      dynamic_shapes={"pixel_values": {0: torch.export.Dim("batch")}}, **names)
    torch.onnx.export(Logits(), (pixels,), folder / "torch TorchScript.onnx", dynamo=False, opset_version=17,
                      dynamic_axes={"pixel_values": {0: "batch"}, "logits": {0: "batch"}}, **names)


WRITE_OPTIMUM = """
import sys
from optimum.exporters.onnx import main_export
main_export(sys.argv[1], sys.argv[2], task="image-classification", do_validation=False)
"""


def quietly(*command):
    answer = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if answer.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{answer.stdout}")


def write_files(options, folder):
    """{who wrote it: path}; vitrine's are always new."""
    if not (folder / "expected.npz").exists():
        quietly(sys.executable, __file__, "--write-torch", folder)
        if options.optimum:
            quietly(options.optimum, "-c", WRITE_OPTIMUM, folder / "checkpoint", folder / "optimum")
    files = {OURS: folder / "vitrine.onnx", "the same again": folder / "vitrine again.onnx"}
    files.update({f"vitrine --opset {opset}": folder / f"vitrine-{opset}.onnx" for opset in (13, 20, 23)})
    for name, path in files.items():
        quietly(options.vitrine, "export", "-m", folder / "checkpoint", "-o", path, "--force",
                *(["--opset", name.split()[-1]] if "opset" in name else []))
    for kind in ("dynamo", "TorchScript"):
        files[f"torch.onnx, {kind}"] = folder / f"torch {kind}.onnx"
    if (folder / "optimum").exists():
        files["optimum"] = folder / "optimum" / "model.onnx"
    return files


# ------------------------------------------------------------------------------------------ runtimes
def load_ort(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    options.add_session_config_entry("session.force_spinning_stop", "1")     # threads of one do not steal from the next
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda pixels: session.run(["logits"], {"pixel_values": pixels})[0]


def load_openvino(path, threads):
    import openvino
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = openvino.Core().compile_model(str(path), "CPU", settings).create_infer_request()
    return lambda pixels: request.infer({"pixel_values": pixels}, share_inputs=True)["logits"]


RUNTIMES = {"ort": ("ONNX Runtime", load_ort), "openvino": ("OpenVINO", load_openvino)}


# ------------------------------------------------------------------------------------------ measurement
def load(files, runtime, threads, expected):
    """{name: function of pixels}; all must compute the same."""
    networks = {}
    for name in random.sample(list(files), len(files)):
        networks[name] = RUNTIMES[runtime][1](files[name], threads)
        difference = np.abs(networks[name](expected["pixels"]) - expected["logits"]).max()
        if difference > 1e-4 * np.abs(expected["logits"]).max():
            raise SystemExit(f"{name}: off by {difference:.1e} in {RUNTIMES[runtime][0]}")
    return networks


def measure(networks, pixels, rounds, threads):
    """{name: [seconds of each round]}"""
    clock = time.process_time if threads == 1 else time.perf_counter
    names, times = list(networks), {name: [] for name in networks}
    for number in range(rounds + 2):
        random.shuffle(names)
        for name in names:
            begin = clock()
            networks[name](pixels)
            if number >= 2:     # the first ones allocate
                times[name].append(clock() - begin)
    return times


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3f} ({low:.3f} – {high:.3f})"


def main():
    if sys.argv[1:2] == ["--write-torch"]:
        return write_torch(pathlib.Path(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vitrine", type=pathlib.Path)
    parser.add_argument("--optimum", type=pathlib.Path, help="Python of an environment with optimum-onnx")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--runtimes", default="ort,openvino")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, help="keep the files there, and use those that are there")
    options = parser.parse_args()
    options.vitrine = options.vitrine.resolve()
    temporary = tempfile.TemporaryDirectory(prefix="vitrine-export-speed-")
    folder = options.folder or pathlib.Path(temporary.name)
    folder.mkdir(exist_ok=True)
    files = write_files(options, folder)
    expected = np.load(folder / "expected.npz")
    pixels = np.random.default_rng(1).standard_normal((options.batch, 3, 224, 224), "float32")
    settings = [(runtime, int(threads)) for runtime in options.runtimes.split(",") for threads in options.threads.split(",")]
    ratios = {name: [] for name in files if name != OURS}
    ours = []
    for runtime, threads in settings:
        times = {name: [] for name in files}
        for _ in range(options.repeats):
            networks = load(files, runtime, threads, expected)
            for name, seconds in measure(networks, pixels, options.rounds, threads).items():
                times[name] += seconds
        ours.append(f"{1e3 * statistics.median(times[OURS]):.1f} ms")
        for name in ratios:
            ratios[name].append(quartiles([theirs / our for theirs, our in zip(times[name], times[OURS])]))
        print(f"{RUNTIMES[runtime][0]}, {threads}: measured; load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    print("| file | " + " | ".join(f"{RUNTIMES[r][0]}, {t} thread{'s' * (t > 1)}" for r, t in settings) + " |")
    print("|---|" + "---|" * len(settings))
    print(f"| {OURS} | " + " | ".join(ours) + " |")
    for name, row in ratios.items():
        print(f"| {name} | " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
