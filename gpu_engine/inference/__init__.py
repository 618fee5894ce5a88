"""Where models run: one way to open an ONNX network, and to say what it runs on."""
