"""The outlet process: one encode in, every network output and recording out (see :mod:`gpu_engine.outputs.outlet`)."""
