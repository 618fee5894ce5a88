"""Fixed normalisation statistics: what makes the vocoder's windows agree.

The export normalises every channel over the whole clause, so a window of it comes out with other statistics than its
neighbours: 5 to 6 dB of log-mel distance to the undivided clause, a change of colour at every join. With mean and
variance of each
channel fixed for a voice (averaged over whole clauses of it) the vocoder is purely convolutional: windows with eight frames of
context equal the undivided clause to 0.05 dB, and the distance to the export's own sound is 2 to 4 dB. The statistics
follow the
style, which depends on the number of symbols: below about 48 they are wrong (see ``kokoro.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from gpu_engine.speech.graph import rebuilt

Floats = NDArray[np.float32]
INPUT = "statistics"


@dataclass(frozen=True, slots=True)
class Layout:
    """The normalised tensors in order, and how many channels each has."""

    tensors: tuple[str, ...]
    channels: tuple[int, ...]


def normalised_tensors(model: onnx.ModelProto) -> list[str]:
    """Inputs of the fused normalisations, each once, in graph order."""
    return list(dict.fromkeys(n.input[0] for n in model.graph.node if n.op_type == "InstanceNormalization"))


def with_statistics_outputs(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """The model with mean and mean square over time (float32[C] each, alternating) of every normalised tensor."""
    out = onnx.ModelProto.FromString(model.SerializeToString())
    names = []
    for tensor in normalised_tensors(out):
        square, mean, power = f"{tensor}|square", f"{tensor}|mean", f"{tensor}|power"
        out.graph.node.extend(
            [
                helper.make_node("Mul", [tensor, tensor], [square]),
                helper.make_node("ReduceMean", [tensor, "statistics_axes"], [mean], keepdims=0),
                helper.make_node("ReduceMean", [square, "statistics_axes"], [power], keepdims=0),
            ]
        )
        names += [mean, power]
    out.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    out.graph.initializer.append(numpy_helper.from_array(np.array([0, 2], dtype=np.int64), "statistics_axes"))
    return out, names


def with_given_statistics(model: onnx.ModelProto, layout: Layout) -> onnx.ModelProto:
    """Replace each normalisation by x * a + b with a, b from the new input ``statistics`` float32[2, K].

    Row 0 holds the means of all channels in the order of ``layout``, row 1 the inverse standard deviations.
    """
    part = {tensor: f"{INPUT}|{index}" for index, tensor in enumerate(layout.tensors)}
    constants = [
        numpy_helper.from_array(np.array(layout.channels, dtype=np.int64), "statistics_split"),
        numpy_helper.from_array(np.array(0, dtype=np.int64), "statistics_mean"),
        numpy_helper.from_array(np.array(1, dtype=np.int64), "statistics_inverse"),
        numpy_helper.from_array(np.array([1, -1, 1], dtype=np.int64), "statistics_shape"),
    ]
    nodes: list[Any] = [helper.make_node("Split", [INPUT, "statistics_split"], list(part.values()), axis=1)]
    for name in part.values():
        nodes.append(helper.make_node("Gather", [name, "statistics_mean"], [f"{name}|mean"], axis=0))
        nodes.append(helper.make_node("Gather", [name, "statistics_inverse"], [f"{name}|inverse"], axis=0))
    for node in model.graph.node:
        if node.op_type != "InstanceNormalization":
            nodes.append(node)
            continue
        x, gamma, beta = node.input
        source, out = part[x], node.output[0]
        nodes += [
            helper.make_node("Mul", [gamma, f"{source}|inverse"], [f"{out}|a"]),
            helper.make_node("Mul", [f"{out}|a", f"{source}|mean"], [f"{out}|am"]),
            helper.make_node("Sub", [beta, f"{out}|am"], [f"{out}|b"]),
            helper.make_node("Reshape", [f"{out}|a", "statistics_shape"], [f"{out}|scale"]),
            helper.make_node("Reshape", [f"{out}|b", "statistics_shape"], [f"{out}|shift"]),
            helper.make_node("Mul", [x, f"{out}|scale"], [f"{out}|scaled"]),
            helper.make_node("Add", [f"{out}|scaled", f"{out}|shift"], [out]),
        ]
    base = onnx.ModelProto.FromString(model.SerializeToString())
    base.graph.input.append(helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [2, sum(layout.channels)]))
    return rebuilt(base, nodes, constants)


def pooled(means: list[list[Floats]], powers: list[list[Floats]], weights: list[float], epsilon: float = 1e-5) -> Floats:
    """Statistics float32[2, K] of one voice from per-clause means and mean squares, weighted by clause length."""
    share = np.array(weights, dtype=np.float64) / sum(weights)
    mean = sum(w * np.concatenate(m).astype(np.float64) for w, m in zip(share, means, strict=True))
    power = sum(w * np.concatenate(p).astype(np.float64) for w, p in zip(share, powers, strict=True))
    variance = np.maximum(power - mean**2, 0.0)
    return np.stack([mean, 1.0 / np.sqrt(variance + epsilon)]).astype(np.float32)
