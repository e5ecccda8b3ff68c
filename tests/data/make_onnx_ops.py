#!/usr/bin/env python3
"""Writes tests/data/onnx/: small ONNX graphs and what onnx's ReferenceEvaluator computes from them.

    python tests/data/make_onnx_ops.py [OUT [SEED]]      # needs onnx 1.23.2 and numpy; onnxruntime 1.32.0 to check

ops.json    the graphs: inputs, initializers, nodes, outputs; each tensor with its type, shape and place ("at") in
ops.bin     the elements of all tensors, little-endian
Outputs are float32, since that is what GraphRunner returns: what has another type goes through a Cast.
Where onnxruntime is there and knows the operator, it has to agree.
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int8": TensorProto.INT8,
         "uint8": TensorProto.UINT8, "int64": TensorProto.INT64}
FLOAT = TensorProto.FLOAT
rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
cases = []
blob = bytearray()


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def store(name, value):
    value = np.asarray(value)
    while len(blob) % 8:
        blob.append(0)
    at = len(blob)
    blob.extend(value.astype(value.dtype.newbyteorder("<")).tobytes())
    return {"name": name, "type": str(value.dtype), "shape": list(value.shape), "at": at}


def as_node(op, inputs, outputs, attributes):
    return {"op": op, "inputs": inputs, "outputs": outputs, "attributes": attributes}


def graph(name, nodes, inputs, initializers, outputs, opset):
    """Adds a case: `inputs` and `initializers` are arrays by name, `nodes` come from as_node()."""
    protos = [helper.make_node(n["op"], n["inputs"], n["outputs"], **n["attributes"]) for n in nodes]
    infos = [helper.make_tensor_value_info(k, TYPES[str(v.dtype)], v.shape) for k, v in inputs.items()]
    proto = helper.make_graph(protos, name, infos, [helper.make_tensor_value_info(o, FLOAT, None) for o in outputs],
                              [numpy_helper.from_array(v, k) for k, v in initializers.items()])
    versions = {"opset_imports": [helper.make_opsetid("", opset)], "ir_version": 8 if opset < 21 else 10}
    # ReferenceEvaluator has DequantizeLinear since 19 only; without zero points of other types it is the same before.
    known = max(opset, 19) if any(n["op"] == "DequantizeLinear" for n in nodes) else opset
    with np.errstate(all="ignore"):
        reference = helper.make_model(proto, opset_imports=[helper.make_opsetid("", known)], ir_version=10)
        expected = ReferenceEvaluator(reference).run(outputs, inputs)
    del proto.output[:]
    proto.output.extend(helper.make_tensor_value_info(o, FLOAT, e.shape) for o, e in zip(outputs, expected))
    model = helper.make_model(proto, **versions)
    onnx.checker.check_model(model, full_check=True)
    assert all(e.dtype == np.float32 for e in expected), (name, [e.dtype for e in expected])
    check(name, model, inputs, outputs, expected)
    assert all(c["name"] != name for c in cases), name
    cases.append({"name": name, "opset": opset, "nodes": nodes,
                  "inputs": [store(k, v) for k, v in inputs.items()],
                  "initializers": [store(k, v) for k, v in initializers.items()],
                  "outputs": [store(k, v) for k, v in zip(outputs, expected)]})


def check(name, model, inputs, outputs, expected):
    if onnxruntime is None:
        return
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        got = onnxruntime.InferenceSession(model.SerializeToString(), options).run(outputs, inputs)
    except Exception as error:  # its exceptions have no common base
        print(f"{name}: onnxruntime does not run it: {str(error)[:100]}")
        return
    for g, e in zip(got, expected):
        assert g.shape == e.shape, (name, g.shape, e.shape)
        worst = np.max(np.abs(g - e)) / max(np.max(np.abs(e)), 1e-30) if e.size else 0
        assert worst < 2e-5, (name, worst)


def op(name, op_type, inputs, opset=17, outputs=1, constants=(), cast=False, **attributes):
    """One operator. `inputs`: arrays, None for one that is left out; those numbered in `constants` are initializers."""
    names = ["" if v is None else f"in{i}" for i, v in enumerate(inputs)]
    values = {n: v for n, v in zip(names, inputs) if v is not None}
    fixed = {f"in{i}" for i in constants}
    results = [f"out{i}" for i in range(outputs)]
    nodes = [as_node(op_type, names, results, attributes)]
    if cast:
        nodes = [as_node(op_type, names, ["raw"], attributes), as_node("Cast", ["raw"], results, {"to": FLOAT})]
    graph(f"{op_type}{opset}_{name}", nodes, {k: v for k, v in values.items() if k not in fixed},
          {k: v for k, v in values.items() if k in fixed}, results, opset)


# --------------------------------------------------------------------------------------------------- elementwise
PAIRS = {"same": ((2, 3, 17), (2, 3, 17)), "scalar": ((3, 17), ()), "scalar_left": ((), (3, 17)),
         "vector": ((2, 3, 33), (33,)), "vector_left": ((33,), (2, 3, 33)), "column": ((3, 5, 7), (5, 1)),
         "outer": ((3, 1), (1, 17)), "middle": ((2, 1, 5, 1), (3, 1, 4)), "leading": ((2, 3, 4), (2, 1, 1)),
         "ones": ((1, 1), (1,)), "empty": ((0, 3), (3,))}
for op_type in ["Add", "Sub", "Mul", "Div", "Pow"]:
    for name, (a, b) in PAIRS.items():
        x, y = f32(*a), f32(*b)
        if op_type == "Pow":
            x = np.abs(x) + np.float32(0.1)
        if op_type == "Div":
            y = np.sign(y) * (np.abs(y) + np.float32(0.5))
        op(name, op_type, [np.asarray(x, np.float32), np.asarray(y, np.float32)], 13)
for exponent in [2, 3, 0.5]:
    x = f32(3, 17)
    op(f"exponent{exponent}", "Pow", [np.abs(x) if exponent == 0.5 else x, np.float32(exponent)], constants=[1])
for op_type in ["Sqrt", "Erf", "Tanh", "Sigmoid", "Relu", "Neg"]:
    x = 3 * f32(2, 3, 33)
    op("3d", op_type, [np.abs(x) if op_type == "Sqrt" else x], 13)
    op("scalar", op_type, [np.asarray(np.float32(0.7))], 13)
op("large", "Sigmoid", [np.array([-200, -90, -17, 17, 90, 200], np.float32)])
for approximate in ["none", "tanh"]:
    op(approximate, "Gelu", [3 * f32(3, 65)], 20, approximate=approximate)
op("default", "Gelu", [3 * f32(17)], 20)

# ---------------------------------------------------------------------------------------------------------- shape
for opset in [13, 14, 19, 21]:
    op("zero_and_open", "Reshape", [f32(2, 3, 4), i64(0, -1)], opset, constants=[1])
op("split_heads", "Reshape", [f32(2, 5, 12), i64(0, 0, 3, 4)], constants=[1])
op("to_scalar", "Reshape", [f32(1, 1), i64()], constants=[1])
op("from_input", "Reshape", [f32(4, 3), i64(2, 6)])
op("empty", "Reshape", [f32(0, 6), i64(0, 2, 3)], constants=[1])
op("bytes", "Reshape", [rng.integers(0, 256, (2, 6)).astype(np.uint8), i64(3, 4)], constants=[1], cast=True)
for perm in [(0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 2, 3), (0, 1, 3, 2)]:
    op("".join(map(str, perm)), "Transpose", [f32(2, 3, 5, 9)], 13, perm=list(perm))
op("default", "Transpose", [f32(2, 3, 5)])
op("scalar", "Transpose", [np.asarray(np.float32(3))])
op("large", "Transpose", [f32(65, 70)], perm=[1, 0])
op("ones", "Transpose", [f32(1, 65, 1, 3)], perm=[2, 3, 0, 1])
op("empty", "Transpose", [f32(0, 3)], perm=[1, 0])
op("pixels", "Transpose", [rng.integers(0, 256, (2, 5, 7, 3)).astype(np.uint8)], perm=[0, 3, 1, 2], cast=True)
op("int64", "Transpose", [rng.integers(-9, 9, (3, 17))], perm=[1, 0], cast=True)
op("half", "Transpose", [f32(3, 17).astype(np.float16)], perm=[1, 0], cast=True)
for opset in [13, 21]:
    op("axes", "Squeeze", [f32(1, 3, 1, 5), i64(0, -2)], opset, constants=[1])
    op("one", "Squeeze", [f32(1, 3, 1, 5), i64(2)], opset, constants=[1])
    op("all", "Squeeze", [f32(1, 3, 1, 5)], opset)
    op("axes", "Unsqueeze", [f32(3, 5), i64(0, -1)], opset, constants=[1])
    op("scalar", "Unsqueeze", [np.asarray(np.float32(2)), i64(0)], opset, constants=[1])
op("token", "Expand", [f32(1, 1, 17), i64(3, 1, 17)], constants=[1])
op("two_way", "Expand", [f32(3, 1), i64(2, 1, 5)], constants=[1])
op("scalar", "Expand", [np.asarray(np.float32(2)), i64(2, 3)], constants=[1])
op("shorter", "Expand", [f32(2, 3, 5), i64(5)], constants=[1])
op("none", "Expand", [f32(1, 5), i64(0, 5)], constants=[1])

# --------------------------------------------------------------------------------------------------------- pieces
for axis in [0, 1, -1]:
    shapes = [[2, 3, 5] for _ in range(3)]
    for i, extent in enumerate([1, 4, 2]):
        shapes[i][axis] = extent
    op(f"axis{axis}", "Concat", [f32(*s) for s in shapes], 13, axis=axis)
op("one", "Concat", [f32(2, 3)], axis=0)
op("empty", "Concat", [f32(2, 0), f32(2, 3)], axis=1)
op("token", "Concat", [f32(2, 1, 17), f32(2, 4, 17)], axis=1)
op("equal", "Split", [f32(2, 12)], 13, outputs=3, axis=-1)
op("default_axis", "Split", [f32(4, 3)], 13, outputs=2)
for opset in [13, 18]:
    op("sizes", "Split", [f32(2, 12, 3), i64(2, 3, 7)], opset, outputs=3, constants=[1], axis=1)
op("zero", "Split", [f32(3, 2), i64(3, 0)], 18, outputs=2, constants=[1])
op("number", "Split", [f32(2, 12)], 18, outputs=3, axis=-1, num_outputs=3)
op("uneven", "Split", [f32(2, 7)], 18, outputs=3, axis=1, num_outputs=3)
op("all", "Slice", [f32(5, 7), i64(1, 2), i64(4, 6)], 13, constants=[1, 2])
op("axes", "Slice", [f32(3, 5, 7), i64(-3), i64(2**62), i64(1)], 13, constants=[1, 2, 3])
op("negative", "Slice", [f32(3, 5, 7), i64(0, -6), i64(-1, -1), i64(0, -1), i64(1, 1)], 13, constants=[1, 2, 3, 4])
op("token", "Slice", [f32(2, 5, 17), i64(0), i64(1), i64(1)], constants=[1, 2, 3])
op("nothing", "Slice", [f32(5, 3), i64(4), i64(2), i64(0)], constants=[1, 2, 3])
op("beyond", "Slice", [f32(5, 3), i64(-99), i64(99), i64(0)], constants=[1, 2, 3])
for opset in [13, 18, 19, 21, 23]:
    op("2d", "Pad", [f32(2, 3), i64(1, 0, 2, 1)], opset, constants=[1])
op("mode", "Pad", [f32(2, 3), i64(0, 0, 2, 1)], constants=[1], mode="constant")
op("constant", "Pad", [f32(1, 3, 5, 7), i64(0, 0, 1, 2, 0, 0, 3, 4), np.float32(-1.5)], 13, constants=[1, 2])
op("axes", "Pad", [f32(2, 3, 5), i64(1, 2), None, i64(-1)], 18, constants=[1, 3])
op("nothing", "Pad", [f32(2, 3), i64(0, 0, 0, 0)], constants=[1])
op("token", "Gather", [f32(3, 5, 17), i64(0)[0]], 13, constants=[1], axis=1)
op("list", "Gather", [f32(5, 17), i64(4, 0, -1, -5)], 13, constants=[1])
op("last_axis", "Gather", [f32(2, 5), i64(1, 3)], constants=[1], axis=-1)
op("matrix", "Gather", [f32(5, 3), i64(0, 1, 4, 2).reshape(2, 2)], axis=0)
op("none", "Gather", [f32(5, 3), i64()], constants=[1])
op("bytes", "Gather", [rng.integers(-128, 128, (5, 3)).astype(np.int8), i64(2, 4)], axis=0, cast=True)

# ----------------------------------------------------------------------------------------------------------- sums
for shape in [(3, 17), (2, 3, 5, 17), (4, 1)]:
    op("x".join(map(str, shape)), "Softmax", [3 * f32(*shape)], 13)
op("axis1", "Softmax", [3 * f32(2, 5, 7)], axis=1)
op("axis0", "Softmax", [3 * f32(5, 3)], axis=0)
op("large", "Softmax", [100 * f32(3, 17)], axis=-1)
op("empty", "Softmax", [f32(0, 3)])
op("axis", "ReduceMean", [1 + f32(2, 5, 17)], 13, axes=[1])
op("dropped", "ReduceMean", [1 + f32(2, 5, 17)], 13, axes=[1], keepdims=0)
op("two", "ReduceMean", [1 + f32(2, 3, 5, 7)], 13, axes=[-1, 1], keepdims=0)
op("all", "ReduceMean", [1 + f32(3, 17)], 13)
op("axis", "ReduceMean", [1 + f32(2, 5, 17), i64(-1)], 18, constants=[1])
op("dropped", "ReduceMean", [1 + f32(2, 5, 17), i64(1)], 18, constants=[1], keepdims=0)
op("two", "ReduceMean", [1 + f32(2, 3, 5, 7), i64(2, 3)], 18, constants=[1], keepdims=0)
op("all", "ReduceMean", [1 + f32(3, 17)], 18, keepdims=0, noop_with_empty_axes=0)
for width in [2, 3, 17, 65, 500]:
    op(f"width{width}", "LayerNormalization", [0.5 + 2 * f32(1, 3, width), f32(width), f32(width)], 17, constants=[1, 2],
       epsilon=1e-6)
op("no_bias", "LayerNormalization", [f32(3, 17), f32(17)], 17)
op("default_epsilon", "LayerNormalization", [0.01 * f32(3, 17), f32(17), f32(17)], axis=-1, stash_type=1)
op("axis1", "LayerNormalization", [f32(2, 3, 5), f32(3, 5), f32(3, 5)], axis=1)
op("offset", "LayerNormalization", [8 + f32(2, 65), f32(65), f32(65)])
op("empty", "LayerNormalization", [f32(0, 5), f32(5), f32(5)])

# ------------------------------------------------------------------------------------------------------- products
for m, k, n in [(1, 1, 1), (3, 17, 65), (65, 3, 17), (17, 65, 3), (6, 16, 16), (7, 300, 17), (1, 520, 5), (100, 5, 49)]:
    op(f"{m}x{k}x{n}", "MatMul", [f32(m, k), f32(k, n)], 13)
op("weights", "MatMul", [f32(2, 5, 17), f32(17, 9)], constants=[1])
op("heads", "MatMul", [f32(2, 3, 5, 17), f32(2, 3, 17, 5)])
op("broadcast_right", "MatMul", [f32(2, 3, 5, 7), f32(3, 7, 4)])
op("broadcast_left", "MatMul", [f32(5, 7), f32(2, 3, 7, 4)])
op("broadcast_both", "MatMul", [f32(2, 1, 5, 7), f32(1, 3, 7, 4)])
op("one_matrix", "MatMul", [f32(2, 3, 5, 7), f32(1, 1, 7, 4)])
op("one_left", "MatMul", [f32(5, 7), f32(1, 7, 4)])
op("empty_batch", "MatMul", [f32(0, 5, 7), f32(7, 4)])
op("empty_sum", "MatMul", [f32(5, 0), f32(0, 4)])
op("plain", "Gemm", [f32(3, 17), f32(17, 5), f32(5)], 13)
op("trans_b", "Gemm", [f32(3, 17), f32(65, 17), f32(65)], 13, constants=[1, 2], transB=1)
op("trans_a", "Gemm", [f32(17, 3), f32(17, 5), f32(3, 1)], transA=1)
op("trans_both", "Gemm", [f32(17, 3), f32(5, 17), f32(3, 5)], transA=1, transB=1, alpha=0.5, beta=2.0)
op("no_c", "Gemm", [f32(3, 17), f32(17, 5)], alpha=-1.5)
op("scalar_c", "Gemm", [f32(3, 17), f32(17, 5), np.asarray(np.float32(2))], beta=0.25)
op("row_c", "Gemm", [f32(3, 17), f32(17, 5), f32(1, 5)])
op("patches", "Conv", [f32(2, 3, 16, 24), f32(5, 3, 8, 8), f32(5)], 13, constants=[1, 2], kernel_shape=[8, 8],
   strides=[8, 8])
op("odd_patches", "Conv", [f32(1, 3, 17, 23), f32(4, 3, 7, 5)], 13, strides=[7, 5], dilations=[1, 1], group=1)
op("pads", "Conv", [f32(1, 2, 7, 9), f32(3, 2, 3, 3), f32(3)], kernel_shape=[3, 3], pads=[1, 0, 2, 3])
op("overlap", "Conv", [f32(2, 1, 9, 8), f32(2, 1, 4, 3), f32(2)], strides=[1, 2], auto_pad="NOTSET", pads=[0, 1, 0, 1])
op("pixel", "Conv", [f32(1, 3, 5, 5), f32(17, 3, 1, 1), f32(17)])

# -------------------------------------------------------------------------------------------------- element types
for dtype in [np.uint8, np.int8, np.int64]:
    op(np.dtype(dtype).name, "Cast", [rng.integers(0, 127, (3, 17)).astype(dtype)], 13, to=FLOAT)
halves = np.concatenate([f32(40), 1e-6 * f32(20), [0, 6.1e-5, 5.96e-8, 65504, -65504]]).astype(np.float16)
for opset in [13, 19]:
    op("half", "Cast", [halves], opset, constants=[0], to=FLOAT)
op("float", "Cast", [f32(3, 5)], 13, to=FLOAT)
ties = np.concatenate([np.arange(-9, 10) / 2, [200, -200, 1e9, -1e9], 5 * f32(40)]).astype(np.float32)
for opset in [13, 19, 21, 23]:
    for name, zero in [("u8", np.uint8(3)), ("i8", np.int8(0)), ("i8_zero", np.int8(-5)), ("none", None)]:
        op(name, "QuantizeLinear", [ties, np.float32(0.5), zero], opset, constants=[1, 2], cast=True)
op("axis", "QuantizeLinear", [f32(3, 17), f32(3) ** 2 + np.float32(0.01), np.zeros(3, np.int8)], cast=True, axis=0)
integers = rng.integers(-128, 128, (3, 5, 7)).astype(np.int8)
for opset in [13, 19, 21, 23]:
    op("i8", "DequantizeLinear", [integers, np.float32(0.07)], opset, constants=[0, 1])
    op("zero", "DequantizeLinear", [integers, np.float32(0.07), np.int8(-7)], opset, constants=[0, 1, 2])
    op("axis0", "DequantizeLinear", [integers, f32(3), np.zeros(3, np.int8)], opset, constants=[0, 1, 2], axis=0)
    op("axis1", "DequantizeLinear", [integers, f32(5)], opset, constants=[0, 1])
    op("last", "DequantizeLinear", [integers, f32(7), rng.integers(-9, 9, 7).astype(np.int8)], opset, axis=-1)
op("u8", "DequantizeLinear", [integers.astype(np.uint8), np.asarray(np.float32(0.07)), np.asarray(np.uint8(128))])

# ------------------------------------------------------------------------------------------------------ attention
Q, K, V = f32(2, 5, 12), f32(2, 7, 12), f32(2, 7, 24)
op("default_scale", "Attention", [Q, K, V], 23, q_num_heads=3, kv_num_heads=3)
op("scale", "Attention", [Q, K, V], 23, q_num_heads=3, kv_num_heads=3, scale=0.3)
op("one_head", "Attention", [Q, K, V], 23, q_num_heads=1, kv_num_heads=1, is_causal=0, softmax_precision=1)
op("grouped", "Attention", [f32(2, 5, 24), f32(2, 7, 12), V], 23, q_num_heads=6, kv_num_heads=3)
for shape in [(5, 7), (2, 1, 5, 7), (3, 5, 7), (2, 3, 5, 7)]:
    op("mask" + "x".join(map(str, shape)), "Attention", [Q, K, V, f32(*shape)], 23, q_num_heads=3, kv_num_heads=3)
op("4d", "Attention", [f32(2, 3, 5, 4), f32(2, 3, 7, 4), f32(2, 3, 7, 9)], 23)
op("4d_mask", "Attention", [f32(2, 3, 5, 4), f32(2, 3, 7, 4), f32(2, 3, 7, 4), f32(5, 7)], 23, scale=1.0)
op("vit", "Attention", [f32(1, 17, 65), f32(1, 17, 65), f32(1, 17, 65)], 23, q_num_heads=5, kv_num_heads=5)


# ------------------------------------------------------------------------------------------------------- networks
def network(name, opset, half):
    """A ViT of one block on pictures of 8 × 8, with weights in float16 and int8 if `half`."""
    D, h, F = 12, 3, 20
    nodes, weights = [], {}

    def add(op_type, *inputs, **attributes):
        nodes.append(as_node(op_type, list(inputs), [f"v{len(nodes)}"], attributes))
        return nodes[-1]["outputs"][0]

    def weight(*shape, dtype=np.float32):
        key = f"w{len(weights)}"
        weights[key] = (f32(*shape) / np.sqrt(shape[0])).astype(np.float16 if half else dtype)
        return add("Cast", key, to=FLOAT) if half else key

    def shape(*dims):
        key = f"s{len(weights)}"
        weights[key] = i64(*dims)
        return key

    def linear(x, rows, cols):
        return add("Add", add("MatMul", x, weight(rows, cols)), weight(cols))

    def heads(x):
        return add("Transpose", add("Reshape", x, shape(0, 0, h, D // h)), perm=[0, 2, 1, 3])

    x = add("Conv", "pixels", weight(D, 3, 4, 4), weight(D), strides=[4, 4])
    x = add("Transpose", add("Reshape", x, shape(0, D, -1)), perm=[0, 2, 1])
    x = add("Add", add("Concat", add("Expand", weight(1, 1, D), shape(2, 1, D)), x, axis=1), weight(1, 5, D))
    y = add("LayerNormalization", x, weight(D), weight(D), epsilon=1e-6)
    q, k, v = (heads(linear(y, D, D)) for _ in range(3))
    weights["scale"] = np.float32((D // h) ** -0.5)
    scores = add("Mul", add("MatMul", q, add("Transpose", k, perm=[0, 1, 3, 2])), "scale")
    y = add("Transpose", add("MatMul", add("Softmax", scores), v), perm=[0, 2, 1, 3])
    x = add("Add", x, linear(add("Reshape", y, shape(0, 0, D)), D, D))
    y = linear(add("LayerNormalization", x, weight(D), weight(D)), D, F)
    weights.update(one=np.float32(1), half=np.float32(0.5), root=np.float32(2**0.5))
    y = add("Mul", add("Mul", y, "half"), add("Add", add("Erf", add("Div", y, "root")), "one"))
    x = add("Add", x, linear(y, F, D))
    weights["first"] = i64(0)[0]
    x = add("Gather", x, "first", axis=1)
    if half:
        weights["quantized"] = rng.integers(-127, 128, (7, D)).astype(np.int8)
        weights["steps"] = np.abs(f32(7)) / 100
        head = add("DequantizeLinear", "quantized", "steps", axis=0)
    else:
        head = weight(7, D)
    nodes.append(as_node("Gemm", [x, head, weight(7)], ["logits"], {"transB": 1}))
    order = [n for n in nodes if n["op"] == "Cast"] + [n for n in nodes if n["op"] != "Cast"]
    graph(name, order, {"pixels": f32(2, 3, 8, 8)}, weights, ["logits"], opset)


network("network", 17, False)
network("network_compressed", 17, True)

for op_type in ["Exp", "Sin", "Cos"]:     # at the end: whatever comes before keeps its numbers
    op("3d", op_type, [3 * f32(2, 3, 33)], 13)
    op("scalar", op_type, [np.asarray(np.float32(0.7))], 13)
for op_type in ["Sin", "Cos"]:
    op("far", op_type, [np.array([-100, -31.5, 0, 31.5, 100], np.float32)])
ENDS = np.array([-200, -90, -20, -8, -3, -1e-3, 0, 1e-3, 3, 6, 20, 90, 200], np.float32)
for op_type in ["Softplus", "HardSigmoid", "LeakyRelu", "Elu", "Selu"]:
    op("3d", op_type, [3 * f32(2, 3, 33)], 13)
    op("scalar", op_type, [np.asarray(np.float32(-0.7))], 13)
    op("ends", op_type, [ENDS])
op("sixth", "HardSigmoid", [3 * f32(3, 17)], alpha=1 / 6, beta=0.5)
op("steeper", "LeakyRelu", [3 * f32(3, 17)], alpha=0.3)
op("half", "Elu", [3 * f32(3, 17)], alpha=0.5)
op("others", "Selu", [3 * f32(3, 17)], alpha=0.5, gamma=2.0)
op("both", "Clip", [3 * f32(2, 3, 33), np.float32(-1), np.float32(2)], 13, constants=[1, 2])
op("low", "Clip", [3 * f32(3, 17), np.float32(0.5)], constants=[1])
op("high", "Clip", [3 * f32(3, 17), None, np.float32(-0.5)], constants=[2])
op("none", "Clip", [3 * f32(3, 17)])
op("from_inputs", "Clip", [3 * f32(3, 17), np.asarray(np.float32(-1)), np.asarray(np.float32(2))])
op("scalar", "Clip", [np.asarray(np.float32(7)), np.float32(0), np.float32(6)], constants=[1, 2])
op("tokens", "ReduceMax", [f32(2, 17, 5)], 13, axes=[1], keepdims=0)
op("last", "ReduceMax", [-1 - np.abs(f32(2, 3, 70))], 17, axes=[-1])
op("two", "ReduceMax", [f32(2, 3, 5, 7)], 13, axes=[1, 3])
op("all", "ReduceMax", [f32(2, 3, 5)], 13)
op("tokens", "ReduceMax", [f32(2, 17, 5), i64(1)], 18, constants=[1], keepdims=0)
op("last", "ReduceMax", [f32(2, 3, 70), i64(-1)], 20, constants=[1])

out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "onnx"
out.mkdir(parents=True, exist_ok=True)
(out / "ops.bin").write_bytes(blob)
lines = ",\n".join(json.dumps(case) for case in cases)
(out / "ops.json").write_text(f'{{"cases": [\n{lines}\n]}}\n')
print(f"{len(cases)} cases, {len(blob)} bytes")
