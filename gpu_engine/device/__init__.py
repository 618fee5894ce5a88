"""The accelerators of this machine."""
