"""The files of the suite: which are written, what goes into them and what must come out."""
import dataclasses
import json
import pathlib
import shutil
import struct
import subprocess

import numpy as np
import onnx.reference
import onnx.reference.op_run

MODELS = pathlib.Path(__file__).resolve().parents[1] / "data" / "models"
OPSETS = (13, 17, 20, 23)
WEIGHTS = ("fp32", "fp16", "int8", "int8-qdq")
BATCHES = (1, 3)

# Shares of the largest value.
BOUND = 1e-4
QDQ_BOUND = 4e-2     # a value between two 8-bit numbers becomes the one or the other

# Tiny models, and what each has that others have not.
FAMILIES = {
    "hf_vit_base": "class token",
    "hf_vit_odd_dims": "head size 15, MLP 101, patch 11",
    "hf_vit_model_pooler_relu": "no head: pooler",
    "hf_dinov2_swiglu": "class token and mean of patches, layer scale, SwiGLU",
    "hf_dinov2_reg_larger": "registers, layer scale, positions of another image size",
    "timm_vit_reg4_gap": "registers, mean of patches",
    "timm_vit_map": "attention pooling",
    "timm_vit_qk_norm": "norms of q and k",
    "timm_deit_distilled": "distillation token, two heads",
    "timm_vit_clip_quickgelu": "norm before the blocks, quick GELU",
    "hf_clip": "mean of patches that no norm precedes",
    "timm_form_aimv2": "RMS norms, one over each patch's embedding; no biases, SwiGLU",
    "timm_form_rope_mixed": "rotary positions with learned frequencies",
    "timm_form_perception_encoder": "attention pooling of all tokens; rotary positions",
    "timm_form_post_norm": "norms behind the branches",
    "timm_form_twin": "two of everything in a block",
    "timm_form_parallel_rms_norm": "attention and MLP side by side, RMS norms, also of q and k",
    "timm_form_differential_parallel": "differential attention, beside the MLP",
    "timm_form_grouped_heads": "heads that share keys and values, RMS norms",
    "timm_act_elu": "ELU",
    "timm_act_selu": "SELU",
    "timm_act_hard_swish": "hard Swish, by way of HardSigmoid",
    "timm_pool_avgmax": "half the sum of mean and largest of the patches",
    "hf_siglip_model": "no head, no class token: attention pooling; tanh GELU",
    "hf_ijepa": "no class token",
    "hf_beit_larger": "relative positions, of another image size; no key bias; layer scale",
    "hf_dinov3_gated_nonsquare": "no head: rotary positions, registers, layer scale, gated MLP",
    "timm_eva02": "rotary positions, gated MLP, mean of patches",
}
# That of the expected tensors, where it is not the model's own.
IMAGE_SIZE = {"hf_dinov2_reg_larger": "35x56", "hf_beit_larger": "48x64", "hf_dinov3_gated_nonsquare": "40x72"}
NO_HEAD = ("hf_vit_model_pooler_relu", "hf_siglip_model", "hf_dinov3_gated_nonsquare")    # nor a picture recipe
RECIPE_IN_JSON = ("hf_vit_base", "hf_dinov2_swiglu")


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    opset: int
    weights: str = "fp32"
    input: str = "float"
    external: bool = False

    @property
    def name(self):
        parts = [self.model, f"opset{self.opset}", self.weights]
        return "-".join(parts + (["uint8"] if self.input == "uint8" else []) + (["external"] if self.external else []))

    @property
    def row(self):
        """The row of the table that it belongs to. Bytes and external data have their own at the default opset."""
        row = f"opset {self.opset}, {self.weights}"
        if self.external:
            return row + ", `--external-data`"
        return row + ", `--input uint8`" if self.input == "uint8" and self.opset == 17 else row

    @property
    def output(self):
        return "features" if self.model in NO_HEAD else "logits"


def all_cases():
    """Every model at every opset in fp32; the other options so that each meets every opset and every model."""
    models = list(FAMILIES)
    cases = [Case(model, opset) for model in models for opset in OPSETS]
    for i, model in enumerate(models):
        for j, weights in enumerate(WEIGHTS[1:]):
            if weights == "int8-qdq" and model in NO_HEAD:
                continue
            cases.append(Case(model, OPSETS[(i + j) % len(OPSETS)], weights))
    cases += [Case(RECIPE_IN_JSON[i % 2], opset, input="uint8") for i, opset in enumerate(OPSETS)]
    cases += [Case(models[-1 - i], 17, weights, external=True) for i, weights in enumerate(WEIGHTS)]
    return cases


# ---------------------------------------------------------------------------------------------- tensors
def read_tensors(path):
    """The float32 tensors of a safetensors file."""
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, stop = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[end + begin:end + stop], "<f4").reshape(entry["shape"])
    return tensors


def write_pixels(path, pixels):
    header = {"pixel_values": {"dtype": "F32", "shape": pixels.shape, "data_offsets": [0, pixels.nbytes]}}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + np.ascontiguousarray(pixels, "<f4").tobytes())


# ---------------------------------------------------------------------------------------------- the command
class Command:
    def __init__(self, vitrine):
        self.vitrine = vitrine

    def __call__(self, *arguments):
        answer = subprocess.run([self.vitrine, *map(str, arguments), "--quiet", "--threads", "1"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if answer.returncode:
            raise SystemExit(f"vitrine {' '.join(map(str, arguments))}\nended with {answer.returncode}: {answer.stderr}")

    def run(self, model, pixels, output, folder):
        """What the engine computes."""
        source, target = folder / "run-in.safetensors", folder / "run-out.safetensors"
        write_pixels(source, pixels)
        self("run", "-m", model, "--input", source, "-o", target, "--outputs", output)
        return read_tensors(target)[output]


@dataclasses.dataclass
class Written:
    """A file, three different pictures for it, and what must come out."""
    case: Case
    path: pathlib.Path
    pixels: np.ndarray
    expected: np.ndarray

    def problem(self, got):
        """What is wrong with the result of the first len(got) pictures, if anything is."""
        want = self.expected[:len(got)]
        difference = np.abs(got - want).max() if np.isfinite(got).all() else np.inf
        share = difference / np.abs(want).max()
        bound = QDQ_BOUND if self.case.weights == "int8-qdq" else BOUND
        if share > bound:
            return f"off by {share:.1e} of the largest value at batch {len(got)}"
        return None


class QuantizeLinear(onnx.reference.op_run.OpRun):
    """As opset 13 defines it, which onnx's evaluator leaves out."""
    def _run(self, x, scale, zero, axis=None, **later_attributes):
        return (np.clip(np.rint(x / scale), -128, 127).astype("int8"),)


class DequantizeLinear(onnx.reference.op_run.OpRun):
    def _run(self, x, scale, zero, axis=None, **later_attributes):
        if scale.size > 1:
            scale = scale.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
        return (x.astype("float32") * scale,)


def evaluate_qdq(path, pixels, unrounded):
    """What a graph with rounded activations computes: close to what it computes without that, but not equal."""
    evaluator = onnx.reference.ReferenceEvaluator(str(path), new_ops=[QuantizeLinear, DequantizeLinear])
    result, = evaluator.run(["logits"], {"pixel_values": pixels})
    if np.abs(result - unrounded).max() > 0.1 * np.abs(unrounded).max():
        raise SystemExit(f"{path}: the graph itself is off by {np.abs(result - unrounded).max():.1e}")
    return result


def pictures(folder):
    """Some to calibrate on."""
    place = folder / "pictures"
    place.mkdir()
    for model in ("hf_vit_base", "hf_dinov2_swiglu", "timm_vit_map"):
        shutil.copy(MODELS / model / "image.png", place / f"{model}.png")
    return place


def byte_pixels(case):
    """Random bytes [3, H, W, 3], and the same normalised as the recipe of the model says [3, 3, H, W]."""
    recipe = json.loads((MODELS / case.model / "preprocessor_config.json").read_text())
    height, width = read_tensors(MODELS / case.model / "expected.safetensors")["pixel_values"].shape[2:]
    shape = (3, height, width, 3)
    pixels = np.random.default_rng(5).integers(0, 256, shape, np.uint8)
    values = (pixels * recipe["rescale_factor"] - np.array(recipe["image_mean"])) / np.array(recipe["image_std"])
    return pixels, values.transpose(0, 3, 1, 2).astype("float32")


def write(command, case, folder, calibration):
    source = MODELS / case.model
    place = folder / case.name
    place.mkdir()
    path = place / "model.onnx"
    flags = ["--opset", case.opset, "--input", case.input, "--external-data", "always" if case.external else "never"]
    flags += ["--int8-qdq", calibration] if case.weights == "int8-qdq" else ["--weights", case.weights]
    if case.model in IMAGE_SIZE:
        flags += ["--image-size", IMAGE_SIZE[case.model]]
    command("export", "-m", source, "-o", path, *flags)

    known = read_tensors(source / "expected.safetensors")
    pixels = known["pixel_values"]
    if case.input == "uint8":
        pixels, values = byte_pixels(case)
        return Written(case, path, pixels, command.run(source, values, case.output, place))
    if case.weights == "int8-qdq":      # pictures of the kind that the ranges are for
        command("preprocess", "-m", path, "-o", place / "pixels.safetensors", *sorted(calibration.iterdir()))
        pixels = read_tensors(place / "pixels.safetensors")["pixel_values"]
        return Written(case, path, pixels, evaluate_qdq(path, pixels, command.run(path, pixels, case.output, place)))
    if case.weights == "fp32":
        expected = known["pooler_output" if case.output == "features" else "logits"]     # of the real libraries
    else:
        expected = command.run(path, pixels, case.output, place)     # the engine with the rounded weights
    return Written(case, path, pixels, expected)
