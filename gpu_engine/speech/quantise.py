"""The vocoder in 8 bits: fused normalisation and static QDQ convolutions with one range per output channel.

A plain static INT8 vocoder loses most of its quality in the *outputs* of its convolutions (log-mel distance to float 4.5 dB
against 2.0 here): one channel's range is many times another's. So each output channel is divided by its own calibrated range
before the 8-bit rounding (folded into weights and bias) and multiplied back behind it. Adaptive instance normalisation, nine
passes over memory in the export, becomes one ``InstanceNormalization``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from gpu_engine.speech.graph import GraphError, rebuilt

Floats = NDArray[np.float32]

_KEPT_FLOAT = ("noise_convs", "F0_conv", "N_conv")
"""Inputs of these span the raw excitation and pitch: 8 bits are too few, and they cost nothing."""
_MARGIN = 1.05
"""Room above the calibrated ranges for clauses that are louder than the calibration set."""
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Ranges:
    """Of one convolution over the calibration set: input range, and the range of each output channel (float32[C])."""

    input_low: float
    input_high: float
    output_low: Floats
    output_high: Floats


def quantisable(model: onnx.ModelProto) -> list[Any]:
    """The convolutions that are quantised."""
    return [
        node
        for node in model.graph.node
        if node.op_type == "Conv" and node.name.endswith("_float") and not any(part in node.name for part in _KEPT_FLOAT)
    ]


def fuse_normalisation(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace (x - mean) / sqrt(var + eps) * gamma + beta by ``InstanceNormalization``; outputs keep their names.

    Raises:
        GraphError: nothing of that shape is in the graph.
    """
    graph = model.graph
    producer = {out: node for node in graph.node for out in node.output}
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    constants = {tensor.name: tensor for tensor in graph.initializer}
    replaced: dict[str, list[Any]] = {}
    for divide in (node for node in graph.node if node.op_type == "Div"):
        centred, deviation = producer.get(divide.input[0]), producer.get(divide.input[1])
        if centred is None or deviation is None or centred.op_type != "Sub" or deviation.op_type != "Sqrt":
            continue
        mean = producer.get(centred.input[1])
        if mean is None or mean.op_type != "ReduceMean" or mean.input[0] != centred.input[0]:
            continue
        epsilon = next(numpy_helper.to_array(constants[i]) for i in producer[deviation.input[0]].input if i in constants)
        for scale in users[divide.output[0]]:
            shift = users[scale.output[0]][0]
            if scale.op_type != "Mul" or shift.op_type != "Add":
                continue
            gamma = next(i for i in scale.input if i != divide.output[0])
            beta = next(i for i in shift.input if i != scale.output[0])
            out = shift.output[0]
            replaced[out] = [
                helper.make_node("Reshape", [gamma, "flat_shape"], [f"{out}_gamma"]),
                helper.make_node("Reshape", [beta, "flat_shape"], [f"{out}_beta"]),
                helper.make_node(
                    "InstanceNormalization",
                    [centred.input[0], f"{out}_gamma", f"{out}_beta"],
                    [out],
                    name=f"{out}_norm",
                    epsilon=float(epsilon),
                ),
            ]
    if not replaced:
        raise GraphError("no adaptive normalisation was found in the vocoder")
    nodes = [new for node in graph.node for new in replaced.get(node.output[0], [node])]
    return rebuilt(model, nodes, [numpy_helper.from_array(np.array([-1], dtype=np.int64), "flat_shape")])


def with_range_outputs(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """The model with minima and maxima over time (float32[C]) of every quantisable convolution's input and output."""
    out = onnx.ModelProto.FromString(model.SerializeToString())
    names: list[str] = []
    for node in quantisable(out):
        for tensor in (node.input[0], node.output[0]):
            for kind in ("ReduceMin", "ReduceMax"):
                name = f"{tensor}|{kind}"
                if name in names:
                    continue
                names.append(name)
                out.graph.node.append(helper.make_node(kind, [tensor, "range_axes"], [name], keepdims=0))
                out.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    out.graph.initializer.append(numpy_helper.from_array(np.array([0, 2], dtype=np.int64), "range_axes"))
    return out, names


def quantise(model: onnx.ModelProto, ranges: dict[str, Ranges]) -> onnx.ModelProto:
    """Static QDQ: uint8 activations, int8 weights per output channel, int32 bias.

    Raises:
        GraphError: a convolution has no calibrated range.
    """
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    chosen = {node.name for node in quantisable(model)}
    if missing := chosen - ranges.keys():
        raise GraphError(
            f"{len(missing)} convolutions have no calibrated range, among them {sorted(missing)[0]}: calibrate again"
        )
    nodes: list[Any] = []
    added: list[Any] = []
    for node in model.graph.node:
        if node.name not in chosen:
            nodes.append(node)
            continue
        weight = numpy_helper.to_array(constants[node.input[1]]).astype(np.float32)
        bias = numpy_helper.to_array(constants[node.input[2]]).astype(np.float32) if len(node.input) > 2 else None
        new, tensors = _quantised(node, weight, bias, ranges[node.name])
        nodes += new
        added += tensors
    return rebuilt(model, nodes, added)


def _quantised(node: Any, weight: Floats, bias: Floats | None, ranges: Ranges) -> tuple[list[Any], list[Any]]:
    name = node.name
    channel = np.maximum(np.abs(ranges.output_high), np.abs(ranges.output_low)) * _MARGIN
    # A silent channel keeps its scale: dividing by nothing would blow its weights up.
    channel = np.where(channel < _TINY, 1.0, channel).astype(np.float32)
    weight = (weight / channel[:, None, None]).astype(np.float32)
    offset = (bias if bias is not None else np.zeros(weight.shape[0], dtype=np.float32)) / channel
    in_scale, in_zero = _affine(ranges.input_low * _MARGIN, ranges.input_high * _MARGIN)
    low, high = float((ranges.output_low * _MARGIN / channel).min()), float((ranges.output_high * _MARGIN / channel).max())
    out_scale, out_zero = _affine(low, high)
    # The bias is kept in steps of weight scale * input scale: a row of zeros must not make that step vanish.
    smallest = np.maximum(np.abs(offset) / (float(in_scale) * 2**30), 1e-9)
    weight_scale = np.maximum(np.abs(weight).max(axis=(1, 2)) / 127.0, smallest).astype(np.float32)
    bias_scale = (weight_scale * in_scale).astype(np.float32)
    values = {
        "xs": in_scale, "xz": in_zero, "ys": out_scale, "yz": out_zero,
        "w": np.clip(np.round(weight / weight_scale[:, None, None]), -127, 127).astype(np.int8),
        "ws": weight_scale, "wz": np.zeros(weight_scale.size, dtype=np.int8),
        "b": np.round(offset.astype(np.float64) / bias_scale).astype(np.int32),
        "bs": bias_scale, "bz": np.zeros(weight_scale.size, dtype=np.int32),
        "c": channel[None, :, None],
    }  # fmt: skip
    tensors = [numpy_helper.from_array(np.asarray(value), f"{name}|{key}") for key, value in values.items()]

    def step(kind: str, inputs: list[str], output: str, **attributes: Any) -> Any:
        return helper.make_node(
            kind,
            [f"{name}|{i}" if len(i) < 4 else i for i in inputs],
            [output],
            name=f"{name}|{kind}{output[-3:]}",
            **attributes,
        )

    conv = helper.make_node("Conv", [f"{name}|xd", f"{name}|wd", f"{name}|bd"], [f"{name}|o"], name=name)
    conv.attribute.extend(node.attribute)
    return [
        step("QuantizeLinear", [node.input[0], "xs", "xz"], f"{name}|xq"),
        step("DequantizeLinear", ["xq", "xs", "xz"], f"{name}|xd"),
        step("DequantizeLinear", ["w", "ws", "wz"], f"{name}|wd", axis=0),
        step("DequantizeLinear", ["b", "bs", "bz"], f"{name}|bd", axis=0),
        conv,
        step("QuantizeLinear", ["o", "ys", "yz"], f"{name}|yq"),
        step("DequantizeLinear", ["yq", "ys", "yz"], f"{name}|yd"),
        step("Mul", ["yd", "c"], node.output[0]),
    ], tensors


def _affine(low: float, high: float) -> tuple[np.float32, np.uint8]:
    """Scale and zero point of uint8 over [low, high] with zero representable."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = max((high - low) / 255.0, 1e-9)
    return np.float32(scale), np.uint8(np.clip(round(-low / scale), 0, 255))


def pack_ranges(ranges: dict[str, Ranges]) -> dict[str, Floats]:
    """Flat arrays for an ``.npz``: per convolution [input low, input high, lows…, highs…]."""
    return {
        name: np.concatenate([[r.input_low, r.input_high], r.output_low, r.output_high]).astype(np.float32)
        for name, r in ranges.items()
    }


def unpack_ranges(arrays: dict[str, Floats]) -> dict[str, Ranges]:
    """Inverse of :func:`pack_ranges`."""
    out = {}
    for name, flat in arrays.items():
        channels = (flat.size - 2) // 2
        out[name] = Ranges(float(flat[0]), float(flat[1]), flat[2 : 2 + channels], flat[2 + channels :])
    return out
