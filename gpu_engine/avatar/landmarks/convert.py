"""Recipe of the four networks beside this file: MediaPipe's TFLite graphs as ONNX, weights kept at 16 bits.

Build time only (needs the packages ``tflite`` and ``onnx``); README.md gives the commands and the measured error. The
graphs are small convolutional nets; every operator they use is here and any other is refused.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET = 17


class ConversionError(RuntimeError):
    """The graph holds something this converter does not know; the message names it."""


class _Graph:
    """One TFLite subgraph on its way to ONNX. Four-dimensional activations are held as NCHW."""

    def __init__(self, raw: bytes, narrow: bool) -> None:
        import tflite  # type: ignore[import-not-found]

        self.narrow = narrow
        self.t = tflite
        self.model = tflite.Model.GetRootAsModel(raw, 0)
        self.graph = self.model.Subgraphs(0)
        self.names = {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.alias: dict[int, int] = {}
        self.count = 0

    def shape(self, index: int) -> list[int]:
        return [int(v) for v in self.graph.Tensors(index).ShapeAsNumpy()]

    def constant(self, index: int) -> NDArray[Any] | None:
        index = self.alias.get(index, index)
        tensor = self.graph.Tensors(index)
        data = self.model.Buffers(tensor.Buffer()).DataAsNumpy()
        if isinstance(data, int):
            return None
        kinds = {
            self.t.TensorType.FLOAT32: np.float32,
            self.t.TensorType.FLOAT16: np.float16,
            self.t.TensorType.INT32: np.int32,
        }
        if tensor.Type() not in kinds:
            raise ConversionError(f"tensor {tensor.Name()} has type {tensor.Type()}: only float and int32 are known")
        array: NDArray[Any] = np.frombuffer(data.tobytes(), kinds[tensor.Type()]).reshape(self.shape(index))
        return array

    def name(self, index: int) -> str:
        return f"t{self.alias.get(index, index)}"

    def node(self, kind: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.count += 1
        output = output or f"n{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{kind}_{self.count}", **attributes))
        return output

    def weight(self, array: NDArray[Any]) -> str:
        """An initialiser; floating values are stored at 16 bits and widened in the graph (folded when it is opened)."""
        from onnx import TensorProto, numpy_helper

        self.count += 1
        name = f"w{self.count}"
        if array.dtype in (np.float32, np.float16):
            half = np.asarray(array, np.float16)
            exact = array.dtype == np.float16 or bool((half.astype(np.float32) == array).all())
            if exact or self.narrow:
                self.weights.append(numpy_helper.from_array(half, name))
                return self.node("Cast", [name], to=TensorProto.FLOAT)
            array = np.asarray(array, np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def operand(self, index: int) -> str:
        """Name of an input tensor, constants brought to NCHW."""
        value = self.constant(index)
        if value is None:
            return self.name(index)
        return self.weight(value.transpose(0, 3, 1, 2) if value.ndim == 4 else value)

    def options(self, op: Any, cls: Any) -> Any:
        found = cls()
        table = op.BuiltinOptions()
        found.Init(table.Bytes, table.Pos)
        return found

    def same_pads(self, index: int, kernel: tuple[int, int], stride: tuple[int, int]) -> list[int]:
        _, height, width, _ = self.shape(index)
        pads = []
        for size, k, s in ((height, kernel[0], stride[0]), (width, kernel[1], stride[1])):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            pads.append((total // 2, total - total // 2))
        return [pads[0][0], pads[1][0], pads[0][1], pads[1][1]]

    def activation(self, name: str, kind: int, output: str) -> None:
        fused = self.t.ActivationFunctionType
        if kind == fused.NONE:
            self.node("Identity", [name], output)
        elif kind == fused.RELU:
            self.node("Relu", [name], output)
        elif kind == fused.RELU6:
            self.node("Clip", [name, self.weight(np.array(0, np.float32)), self.weight(np.array(6, np.float32))], output)
        else:
            raise ConversionError(f"fused activation {kind} is not known")

    def convolution(self, op: Any, depthwise: bool) -> None:
        o = self.options(op, self.t.DepthwiseConv2DOptions if depthwise else self.t.Conv2DOptions)
        x, w, b = (op.Inputs(i) for i in range(3))
        kernel = self.constant(w)
        if kernel is None:
            raise ConversionError("a convolution without constant weights")
        stride = (o.StrideH(), o.StrideW())
        size = (kernel.shape[1], kernel.shape[2])
        pads = self.same_pads(x, size, stride) if o.Padding() == self.t.Padding.SAME else [0, 0, 0, 0]
        filters = kernel.transpose(3, 0, 1, 2) if depthwise else kernel.transpose(0, 3, 1, 2)
        bias = self.constant(b)
        out = self.node(
            "Conv",
            [self.name(x), self.weight(np.ascontiguousarray(filters)), self.weight(np.asarray(bias))],
            group=kernel.shape[3] if depthwise else 1,
            strides=stride,
            pads=pads,
            kernel_shape=size,
        )
        self.activation(out, o.FusedActivationFunction(), self.name(op.Outputs(0)))

    def pool(self, op: Any, kind: str) -> None:
        o = self.options(op, self.t.Pool2DOptions)
        size, stride = (o.FilterHeight(), o.FilterWidth()), (o.StrideH(), o.StrideW())
        pads = self.same_pads(op.Inputs(0), size, stride) if o.Padding() == self.t.Padding.SAME else [0, 0, 0, 0]
        self.node(kind, [self.name(op.Inputs(0))], self.name(op.Outputs(0)), kernel_shape=size, strides=stride, pads=pads)

    def pad(self, op: Any) -> None:
        pads = np.asarray(self.constant(op.Inputs(1)), np.int64)[[0, 3, 1, 2]]
        self.node("Pad", [self.name(op.Inputs(0)), self.weight(pads.T.reshape(-1))], self.name(op.Outputs(0)))

    def resize(self, op: Any) -> None:
        o = self.options(op, self.t.ResizeBilinearOptions)
        n, h, w, c = self.shape(op.Outputs(0))
        if o.AlignCorners():
            raise ConversionError("bilinear resize with aligned corners is not known")
        mode = "half_pixel" if o.HalfPixelCenters() else "asymmetric"
        sizes = self.weight(np.array([n, c, h, w], np.int64))
        self.node(
            "Resize",
            [self.name(op.Inputs(0)), "", "", sizes],
            self.name(op.Outputs(0)),
            mode="linear",
            coordinate_transformation_mode=mode,
        )

    def deconvolution(self, op: Any) -> None:
        # MediaPipe's Convolution2DTransposeBias: options are the raw struct (padding, stride width, stride height).
        padding, stride_w, stride_h = np.frombuffer(op.CustomOptionsAsNumpy().tobytes()[:12], np.int32)
        kernel = np.asarray(self.constant(op.Inputs(1)))
        if (kernel.shape[1], kernel.shape[2]) != (stride_h, stride_w):
            raise ConversionError(f"transposed convolution {kernel.shape} with stride {stride_h}x{stride_w}, padding {padding}")
        filters = np.ascontiguousarray(kernel.transpose(3, 0, 1, 2))
        inputs = [self.name(op.Inputs(0)), self.weight(filters), self.weight(np.asarray(self.constant(op.Inputs(2))))]
        self.node("ConvTranspose", inputs, self.name(op.Outputs(0)), strides=[int(stride_h), int(stride_w)])

    def reshape(self, op: Any) -> None:
        flat = self.node("Transpose", [self.name(op.Inputs(0))], perm=[0, 2, 3, 1])
        shape = self.weight(np.array(self.shape(op.Outputs(0)), np.int64))
        self.node("Reshape", [flat, shape], self.name(op.Outputs(0)))

    def add_operator(self, op: Any) -> None:
        codes = self.model.OperatorCodes(op.OpcodeIndex())
        kind = self.names[max(codes.BuiltinCode(), codes.DeprecatedBuiltinCode())]
        out = self.name(op.Outputs(0))
        simple = {"RELU": "Relu", "LOGISTIC": "Sigmoid", "HARD_SWISH": "HardSwish"}
        if kind == "DEQUANTIZE":
            self.alias[op.Outputs(0)] = op.Inputs(0)
        elif kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            self.convolution(op, kind.startswith("DEPTHWISE"))
        elif kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
            self.pool(op, "MaxPool" if kind.startswith("MAX") else "AveragePool")
        elif kind == "PAD":
            self.pad(op)
        elif kind in ("ADD", "MUL"):
            cls = self.t.AddOptions if kind == "ADD" else self.t.MulOptions
            made = self.node(kind.title(), [self.operand(op.Inputs(0)), self.operand(op.Inputs(1))])
            self.activation(made, self.options(op, cls).FusedActivationFunction(), out)
        elif kind == "PRELU":
            slope = np.asarray(self.constant(op.Inputs(1))).reshape(-1, 1, 1)
            self.node("PRelu", [self.name(op.Inputs(0)), self.weight(slope)], out)
        elif kind in simple:
            self.node(simple[kind], [self.name(op.Inputs(0))], out)
        elif kind == "RESHAPE":
            self.reshape(op)
        elif kind == "CONCATENATION":
            axis = self.options(op, self.t.ConcatenationOptions).Axis()
            if len(self.shape(op.Outputs(0))) == 4:
                axis = (0, 2, 3, 1)[axis]
            self.node("Concat", [self.name(op.Inputs(i)) for i in range(op.InputsLength())], out, axis=axis)
        elif kind == "RESIZE_BILINEAR":
            self.resize(op)
        elif kind == "CUSTOM" and codes.CustomCode() == b"Convolution2DTransposeBias":
            self.deconvolution(op)
        else:
            raise ConversionError(f"operator {kind} {codes.CustomCode() or ''} is not known")


def convert(raw: bytes, outputs: tuple[str, ...], *, narrow: bool = False) -> bytes:
    """A TFLite model as serialised ONNX.

    The input ``image`` stays float32[1, h, w, 3]; ``outputs`` names the outputs in the order of the graph, four-dimensional
    ones in NHWC as in the original. ``narrow`` rounds 32-bit weights to 16 bits.

    Raises:
        ConversionError: an operator, type or option is not known.
    """
    from onnx import TensorProto, checker, helper

    g = _Graph(raw, narrow)
    source = g.graph.Inputs(0)
    g.node("Transpose", ["image"], g.name(source), perm=[0, 3, 1, 2])
    for i in range(g.graph.OperatorsLength()):
        g.add_operator(g.graph.Operators(i))
    results = []
    for i, name in enumerate(outputs):
        index = g.graph.Outputs(i)
        shape = g.shape(index)
        if len(shape) == 4:
            g.node("Transpose", [g.name(index)], name, perm=[0, 2, 3, 1])
        else:
            g.node("Identity", [g.name(index)], name)
        results.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, g.shape(source))
    graph = helper.make_graph(g.nodes, "mediapipe", [image], results, g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="lumihost")
    checker.check_model(model)
    serialised: bytes = model.SerializeToString()
    return serialised


if __name__ == "__main__":
    named = tuple(word for word in sys.argv[3:] if word != "--narrow")
    made = convert(Path(sys.argv[1]).read_bytes(), named, narrow="--narrow" in sys.argv)
    Path(sys.argv[2]).write_bytes(made)
    sys.stdout.write(f"{sys.argv[2]}: {len(made)} bytes\n")
