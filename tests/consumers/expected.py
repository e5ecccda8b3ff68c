"""What every file does in every runtime. runtimes.py fails where it measures anything else, for better or worse."""

OK, WRONG, NOT_LOADED = "ok", "wrong", "does not load"     # the last: refused, or crashed, when loaded or first run

_NO_GELU_NODE = ("timm_vit_clip_quickgelu",)     # nor any other that came between opset 17 and 20

# Runtime and version (major.minor) -> what does not work, and how.
COLUMNS = {
    "ONNX Runtime 1.32": [],
    "ONNX Runtime 1.20": [(NOT_LOADED, lambda c: c.opset == 23)],     # knows opset 21
    "ONNX Runtime 1.17": [(NOT_LOADED, lambda c: c.opset == 23)],     # knows opset 20 and IR 9
    "OpenVINO 2026.4": [],
    "OpenVINO 2023.3": [
        (NOT_LOADED, lambda c: c.opset == 23),
        (NOT_LOADED, lambda c: c.opset == 20 and c.model not in _NO_GELU_NODE),
        (NOT_LOADED, lambda c: c.external and c.weights == "fp16"),
        (NOT_LOADED, lambda c: c.weights == "int8-qdq" and c.model == "timm_vit_qk_norm"),
    ],
    "OpenCV 5.0": [],
    "OpenCV 4.10": [
        (NOT_LOADED, lambda c: c.opset == 23 and c.model != "timm_vit_qk_norm"),     # which has no Attention node
        (NOT_LOADED, lambda c: c.external),
    ],
    "OpenCV 4.6": [(NOT_LOADED, lambda c: True)],     # its own Expand and LayerNormalization are in the way of any ViT
    "onnx 1.23": [(NOT_LOADED, lambda c: c.weights.startswith("int8") and c.opset < 19)],     # DequantizeLinear
}

# What the table calls them where that is not enough.
WHERE = {"OpenCV 4.10": "Debian 13", "OpenCV 4.6": "Debian 12, Ubuntu 24.04", "onnx 1.23": "checker and reference evaluator"}


def column(title, version):
    return f"{title} {'.'.join(version.split('.')[:2])}"


def result(column, case):
    return next((outcome for outcome, applies in COLUMNS[column] if applies(case)), OK)
