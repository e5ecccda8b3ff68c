#!/usr/bin/env python3
"""One program of peers.py, in a process of its own: answers each line of standard input by a turn of forward passes.

    peer.py NETWORK FOLDER THREADS PIXELS.npy LOGITS.npy

NETWORK is a name of NETWORKS; FOLDER holds the files that peers.py wrote. Writes its logits, says "ready", and then for each line,
the number of passes, runs one that is not timed, runs those, and prints their median in seconds. Sleeps between two turns.
"""
import os
import pathlib
import statistics
import sys
import time

import numpy as np


# ------------------------------------------------------------------------------------------ ONNX Runtime
def onnx_runtime(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    # Its threads spin while there is work, and stop when the last operator has run.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda pixels: session.run(["logits"], {"pixel_values": pixels})[0]


def onnx_runtime_dynamic(folder, threads):
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic
    logging.disable(logging.WARNING)
    path = folder / "dynamic.onnx"
    quantize_dynamic(folder / "model.onnx", path, weight_type=QuantType.QInt8, per_channel=True)
    return onnx_runtime(path, threads)


# ------------------------------------------------------------------------------------------ OpenVINO
def openvino(path, threads, hint):
    import openvino as ov
    settings = {"INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                "NUM_STREAMS": 1}
    request = ov.Core().compile_model(str(path), "CPU", settings).create_infer_request()
    return lambda pixels: request.infer({"pixel_values": pixels}, share_inputs=True)["logits"]


# ------------------------------------------------------------------------------------------ PyTorch
def timm_model(folder, threads):
    import timm
    import torch
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    return timm.create_model(f"local-dir:{folder / 'checkpoint'}", pretrained=True).eval()


def inferring(function):
    """From and to numpy, in inference mode."""
    import torch

    def run(pixels):
        with torch.inference_mode():
            return function(torch.from_numpy(pixels)).float().numpy()
    return run


def pytorch(folder, threads):
    return inferring(timm_model(folder, threads))


def pytorch_bf16(folder, threads):
    import torch
    model = timm_model(folder, threads).to(torch.bfloat16)
    return inferring(lambda pixels: model(pixels.to(torch.bfloat16)))


def pytorch_autocast(folder, threads):
    import torch
    model = timm_model(folder, threads)

    def run(pixels):
        with torch.autocast("cpu", torch.bfloat16):
            return model(pixels)
    return inferring(run)


def pytorch_compiled(folder, threads, bf16=False):
    import torch
    torch._inductor.config.freezing = True      # weights become constants in packed layouts
    model = timm_model(folder, threads)
    if bf16:
        model = model.to(torch.bfloat16)
    compiled = torch.compile(model)

    def run(pixels):
        with torch.no_grad():                   # freezing does not know inference mode
            return compiled(torch.from_numpy(pixels).to(torch.bfloat16 if bf16 else torch.float32)).float().numpy()
    return run


def pytorch_int8(folder, threads):
    import torch
    model = timm_model(folder, threads)
    return inferring(torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8))


NETWORKS = {
    "fp32": {
        "ONNX Runtime": lambda folder, threads: onnx_runtime(folder / "model.onnx", threads),
        "OpenVINO": lambda folder, threads: openvino(folder / "model.onnx", threads, "f32"),
        "PyTorch": pytorch,
        "PyTorch compiled": pytorch_compiled,
    },
    "bf16": {
        "OpenVINO": lambda folder, threads: openvino(folder / "model.onnx", threads, "bf16"),
        "PyTorch": pytorch_bf16,
        "PyTorch autocast": pytorch_autocast,
        "PyTorch compiled": lambda folder, threads: pytorch_compiled(folder, threads, bf16=True),
    },
    "int8": {
        "ONNX Runtime QDQ": lambda folder, threads: onnx_runtime(folder / "qdq.onnx", threads),
        "ONNX Runtime dynamic": onnx_runtime_dynamic,
        "OpenVINO QDQ": lambda folder, threads: openvino(folder / "qdq.onnx", threads, "f32"),
        "OpenVINO QDQ, bf16": lambda folder, threads: openvino(folder / "qdq.onnx", threads, "bf16"),
        "PyTorch dynamic": pytorch_int8,
    },
}


def main():
    precision, name = sys.argv[1].split(":")
    folder, threads = pathlib.Path(sys.argv[2]), int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)                               # whatever a library prints is no answer
    pixels = np.load(sys.argv[4])
    run = NETWORKS[precision][name](folder, threads)
    np.save(sys.argv[5], run(pixels))
    print("ready", file=answers)
    for line in sys.stdin:
        run(pixels)
        seconds = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            run(pixels)
            seconds.append(time.perf_counter() - begin)
        print(statistics.median(seconds), file=answers)


if __name__ == "__main__":
    main()
