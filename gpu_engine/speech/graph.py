"""Surgery on the Kokoro-82M graph: durations as an output, three pieces, float convolutions.

The exported graph runs text to audio in one go. It is cut into

* ``front``  (tokens, style, speed) -> durations, content, F0 and energy curves: all timings, before any audio exists;
* ``source`` (F0 curve) -> the spectrogram of the harmonic excitation. Its phase is a running sum over the clause, so it is
  computed once for the whole clause and sliced: windows of the vocoder then agree in phase and can be cross-faded;
* ``vocoder`` (content, F0, energy, style, excitation) -> audio, run in windows.

One frame is 25 ms: 600 samples at 24 kHz, 2 steps of the F0 and energy curves, 120 steps of the excitation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DURATIONS = "/encoder/Clip_output_0"
CONTENT = "/encoder/MatMul_1_output_0"
PITCH = "/encoder/Reshape_output_0"
ENERGY = "/encoder/Reshape_1_output_0"
EXCITATION = "/decoder/decoder/generator/Concat_3_output_0"
AUDIO = "audio"

_SHAPES: dict[str, tuple[int, list[int | str]]] = {
    "tokens": (TensorProto.INT64, [1, "n"]),
    "style": (TensorProto.FLOAT, [1, 256]),
    "speed": (TensorProto.FLOAT, [1]),
    DURATIONS: (TensorProto.FLOAT, [1, "n"]),
    CONTENT: (TensorProto.FLOAT, [1, 512, "t"]),
    PITCH: (TensorProto.FLOAT, [1, "t2"]),
    ENERGY: (TensorProto.FLOAT, [1, "t2"]),
    EXCITATION: (TensorProto.FLOAT, [1, 22, "t120"]),
    AUDIO: (TensorProto.FLOAT, ["samples"]),
}
_PIECES: dict[str, tuple[list[str], list[str]]] = {
    "front": (["tokens", "style", "speed"], [DURATIONS, CONTENT, PITCH, ENERGY]),
    "source": ([PITCH], [EXCITATION]),
    "vocoder": ([CONTENT, PITCH, ENERGY, "style", EXCITATION], [AUDIO]),
}


class GraphError(ValueError):
    """The model file does not have the structure the surgery expects."""


def split_kokoro(model: onnx.ModelProto) -> dict[str, onnx.ModelProto]:
    """The pieces ``front``, ``source`` and ``vocoder`` of a Kokoro-82M v1.0 export.

    Raises:
        GraphError: a tensor at a cut is missing: the file is another export.
    """
    return {name: _extract(model, inputs, outputs) for name, (inputs, outputs) in _PIECES.items()}


def _extract(model: onnx.ModelProto, inputs: list[str], outputs: list[str]) -> onnx.ModelProto:
    graph = model.graph
    producer = {out: index for index, node in enumerate(graph.node) for out in node.output}
    constants = {tensor.name for tensor in graph.initializer}
    wanted: set[int] = set()
    used: set[str] = set()
    stack = list(outputs)
    while stack:
        tensor = stack.pop()
        if tensor in used or tensor in inputs or not tensor:
            continue
        used.add(tensor)
        if tensor in producer:
            index = producer[tensor]
            if index not in wanted:
                wanted.add(index)
                stack.extend(graph.node[index].input)
        elif tensor not in constants:
            raise GraphError(f"tensor '{tensor}' is not in this export: use the pinned Kokoro-82M int8 file")
    known = {value.name: value for value in graph.input}
    piece = helper.make_graph(
        [node for index, node in enumerate(graph.node) if index in wanted],
        f"kokoro-{outputs[0]}",
        [helper.make_tensor_value_info(name, *_SHAPES[name]) if name in _SHAPES else known[name] for name in inputs],
        [helper.make_tensor_value_info(name, *_SHAPES[name]) for name in outputs],
        [tensor for tensor in graph.initializer if tensor.name in used],
    )
    out = helper.make_model(piece, opset_imports=model.opset_import, producer_name="lumihost")
    out.ir_version = model.ir_version
    return out


def float_convolutions(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace every dynamic ``ConvInteger`` chain by one float ``Conv`` with weights ``(q - zero) * scale``.

    The chain is DynamicQuantizeLinear(x), ConvInteger, [Add quantised bias], Cast, Mul(x_scale * w_scale).
    """
    graph = model.graph
    producer = {out: node for node in graph.node for out in node.output}
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    constants = {tensor.name: tensor for tensor in graph.initializer}
    new_nodes: dict[str, Any] = {}
    new_constants: list[Any] = []
    for conv in graph.node:
        if conv.op_type != "ConvInteger":
            continue
        quantiser = producer[conv.input[0]]
        weight_q = numpy_helper.to_array(constants[conv.input[1]]).astype(np.float32)
        zero = numpy_helper.to_array(constants[conv.input[3]]).astype(np.float32)
        bias_name = ""
        step = users[conv.output[0]][0]
        if step.op_type == "Add":
            bias_name = _float_bias(step, conv.output[0], producer, constants)
            step = users[step.output[0]][0]
        rescale = users[step.output[0]][0]
        if step.op_type != "Cast" or rescale.op_type != "Mul":
            raise GraphError(f"{conv.name}: the quantised chain has an unknown shape")
        scale = _weight_scale(rescale, step.output[0], producer, constants)
        weight = ((weight_q - zero) * scale).astype(np.float32)
        weight_name = f"{conv.name}_weight"
        new_constants.append(numpy_helper.from_array(weight, weight_name))
        inputs = [quantiser.input[0], weight_name] + ([bias_name] if bias_name else [])
        node = helper.make_node("Conv", inputs, [rescale.output[0]], name=conv.name.removesuffix("_quant") + "_float")
        node.attribute.extend(conv.attribute)
        new_nodes[rescale.output[0]] = node
    nodes = [new_nodes.get(node.output[0], node) for node in graph.node]
    return rebuilt(model, nodes, new_constants)


def rebuilt(model: onnx.ModelProto, nodes: list[Any], added: list[Any]) -> onnx.ModelProto:
    """The model with other nodes and further constants, without what is no longer used."""
    graph = model.graph
    whole = helper.make_graph(nodes, graph.name, graph.input, graph.output, [*graph.initializer, *added])
    out = helper.make_model(whole, opset_imports=model.opset_import, producer_name="lumihost")
    out.ir_version = model.ir_version
    return _extract(out, [v.name for v in graph.input], [v.name for v in graph.output])


def _float_bias(add: Any, conv_out: str, producer: dict[str, Any], constants: dict[str, Any]) -> str:
    """The float bias behind Reshape(Cast(Floor(Div(bias, scale))))."""
    name: str = next(i for i in add.input if i != conv_out)
    while name in producer:
        name = producer[name].input[0]
    if name not in constants or constants[name].data_type != TensorProto.FLOAT:
        raise GraphError(f"{add.name}: no float bias was found behind the quantised one")
    return name


def _weight_scale(rescale: Any, cast_out: str, producer: dict[str, Any], constants: dict[str, Any]) -> Any:
    """The constant factor of Mul(x_scale, w_scale)."""
    product = producer[next(i for i in rescale.input if i != cast_out)]
    for name in product.input:
        if name in constants:
            return numpy_helper.to_array(constants[name]).astype(np.float32)
    raise GraphError(f"{rescale.name}: no constant weight scale was found")
