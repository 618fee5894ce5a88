"""Finds faces, 468 face points, irises and the person in a picture: four small networks, run by ONNX Runtime on the CPU."""
