"""What every file does in every runtime. runtimes.py fails where it measures anything else, for better or worse."""

OK, WRONG, NOT_LOADED = "ok", "wrong", "does not load"     # the last: refused, or crashed, when loaded or first run

# Which models keep to the operators of opset 17 when they are exported for a newer one.
_OLD_AT_20 = ("timm_vit_clip_quickgelu", "hf_dinov3_gated_nonsquare", "timm_act_elu", "timm_act_selu",
              "timm_act_hard_swish")     # no Gelu, no ReduceMean
_NO_ATTENTION_AT_23 = ("timm_vit_qk_norm", "hf_beit_larger", "hf_dinov3_gated_nonsquare", "timm_eva02",
                       "timm_form_rope_mixed", "timm_form_perception_encoder", "timm_form_parallel_rms_norm",
                       "timm_form_differential_parallel", "timm_form_grouped_heads")
# Learned angles, λ of differential attention: computed from weights alone, which OpenCV 4.10 cannot.
_COMPUTED_CONSTANTS = ("timm_form_rope_mixed", "timm_form_differential_parallel")
_GELU_TANH = ("hf_siglip_model",)


def _approximates_gelu(c):
    """With erf what should be tanh: OpenCV looks at no attribute of Gelu."""
    return c.opset >= 20 and c.model in _GELU_TANH


def _means_over_all(c):
    """RMS norms without what keeps it from loading: it does not see the axes of ReduceMean-18, and takes all of them."""
    return c.opset >= 20 and c.model == "timm_form_grouped_heads"


# Runtime and version (major.minor) -> what does not work, and how.
COLUMNS = {
    "ONNX Runtime 1.32": [],
    "ONNX Runtime 1.20": [(NOT_LOADED, lambda c: c.opset == 23)],     # knows opset 21
    "ONNX Runtime 1.17": [(NOT_LOADED, lambda c: c.opset == 23)],     # knows opset 20 and IR 9
    "OpenVINO 2026.4": [],
    "OpenVINO 2023.3": [
        (WRONG, _means_over_all),
        (NOT_LOADED, lambda c: c.opset == 23 and not (c.model in _OLD_AT_20 and c.model in _NO_ATTENTION_AT_23)),
        (NOT_LOADED, lambda c: c.opset == 20 and c.model not in _OLD_AT_20),
        (NOT_LOADED, lambda c: c.external and c.weights == "fp16"),
        (NOT_LOADED, lambda c: c.weights == "int8-qdq" and c.model == "timm_vit_qk_norm"),
    ],
    "OpenCV 5.0": [(WRONG, _approximates_gelu)],
    "OpenCV 4.10": [
        (NOT_LOADED, lambda c: c.model in _COMPUTED_CONSTANTS),
        (NOT_LOADED, lambda c: c.opset == 23 and c.model not in _NO_ATTENTION_AT_23),
        (NOT_LOADED, lambda c: c.external),
        (WRONG, _approximates_gelu),
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
