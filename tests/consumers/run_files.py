"""Runs ONNX files in one runtime, a file for each line of stdin: run_files.py RUNTIME (ort, openvino, opencv or reference)

A line has, between tabs: name, model, output, type (float32 or uint8), then for each batch: shape (3x3x32x32), file of the
input, file for the output (f32), both without a header. Answers on stdout, a line each: "version TEXT" first, then
"start NAME" and "done NAME" or "error NAME TEXT". opencv_files.cpp speaks the same. A runtime that crashes takes this
process with it: who reads the answers sees a start without an end.
"""
import sys

import numpy as np


class Ort:
    def __init__(self):
        import onnxruntime
        self.ort, self.version = onnxruntime, onnxruntime.__version__

    def load(self, model, output):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        # Else activations of layers with int8 weights are rounded to 8 bits too. What does not know it ignores it.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        session = self.ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return lambda x: session.run([output], {"pixel_values": x})[0]


class OpenVino:
    def __init__(self):
        import openvino
        self.core, self.version = openvino.Core(), openvino.__version__.split("-")[0]
        self.settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}    # else bf16 where the processor has it
        if self.version >= "2024":
            self.settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"    # else activations of layers with int8 weights are rounded too

    def load(self, model, output):
        compiled = self.core.compile_model(model, "CPU", self.settings)
        return lambda x: compiled([x])[compiled.output(output)]


class OpenCv:
    def __init__(self):
        import cv2
        self.cv2, self.version = cv2, cv2.__version__

    def load(self, model, output):
        net = self.cv2.dnn.readNetFromONNX(model)

        def run(x):
            net.setInput(x, "pixel_values")
            return net.forward(output)
        return run


class Reference:
    """onnx's checker with full shape inference, then its evaluator."""
    def __init__(self):
        import onnx
        import onnx.reference
        self.onnx, self.version = onnx, onnx.__version__

    def load(self, model, output):
        self.onnx.checker.check_model(model, full_check=True)
        evaluator = self.onnx.reference.ReferenceEvaluator(model)
        return lambda x: evaluator.run([output], {"pixel_values": x})[0]


RUNTIMES = {"ort": Ort, "openvino": OpenVino, "opencv": OpenCv, "reference": Reference}


def run(runtime, model, output, kind, *batches):
    forward = runtime.load(model, output)
    for shape, source, target in zip(*[iter(batches)] * 3):
        pixels = np.fromfile(source, kind).reshape([int(n) for n in shape.split("x")])
        np.ascontiguousarray(forward(pixels), "float32").tofile(target)


def main():
    runtime = RUNTIMES[sys.argv[1]]()
    print("version", runtime.version, flush=True)
    for line in sys.stdin:
        name, *job = line.rstrip("\n").split("\t")
        print("start", name, flush=True)
        try:
            run(runtime, *job)
            print("done", name, flush=True)
        except Exception as e:
            print("error", name, " ".join(f"{type(e).__name__}: {e}".split())[:400], flush=True)


if __name__ == "__main__":
    main()
