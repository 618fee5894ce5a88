"""The GPU renderer: OpenGL 4.3 on EGL without a display, physically based skin under light that is baked anew each frame."""
