"""A recorded head speaking a sound file, without a show: ``render`` writes an MP4."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.resampler import AudioResampler
from numpy.typing import NDArray

from gpu_engine.avatar.neural.renderer import NeuralRenderer
from gpu_engine.avatar.neural.sound import RATE_HZ, RecordedSound
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.motion.vocabulary import rest_frame


def read_sound(path: Path) -> NDArray[np.int16]:
    """int16[n] mono 48 kHz of any sound file that FFmpeg reads.

    Raises:
        AvatarError: there is no sound in it, or it cannot be decoded.
    """
    resampler = AudioResampler(format="s16", layout="mono", rate=RATE_HZ)
    pieces: list[NDArray[np.int16]] = []
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise AvatarError(f"{path} holds no sound")
            for frame in container.decode(audio=0):
                pieces += [np.asarray(out.to_ndarray(), np.int16).reshape(-1) for out in resampler.resample(frame)]
        pieces += [np.asarray(out.to_ndarray(), np.int16).reshape(-1) for out in resampler.resample(None)]
    except (av.FFmpegError, OSError) as error:
        raise AvatarError(f"{path} cannot be decoded: {error}") from None
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int16)


def render(
    renderer: NeuralRenderer, pcm: NDArray[np.int16], out: Path, *, fps: int = 25, tail_s: float = 0.4,
    each: Callable[[int], None] = lambda frame: None,
) -> int:  # fmt: skip
    """Write ``out`` (H.264 and AAC): the head speaks ``pcm`` (mono 48 kHz), then rests; returns the number of frames.

    ``each`` is called after every frame.
    """
    sound = RecordedSound(pcm)
    per_frame = RATE_HZ // fps
    count = -(-(len(pcm) + int(tail_s * RATE_HZ)) // per_frame)
    canvas = np.zeros((renderer.height, renderer.width, 3), np.uint8)
    with av.open(str(out), "w") as container:
        video = container.add_stream("libx264", rate=fps, options={"crf": "18", "preset": "veryfast", "threads": "1"})
        video.width, video.height, video.pix_fmt = renderer.width, renderer.height, "yuv420p"
        video.time_base = Fraction(1, fps)
        audio = container.add_stream("aac", rate=RATE_HZ)
        audio.layout = "mono"
        for i in range(count):
            sound.at = i * per_frame + per_frame // 2
            renderer.hear(sound if sound.at < len(pcm) else None, i * 1000.0 / fps)
            renderer.render(rest_frame(), canvas)
            each(i)
            container.mux(video.encode(av.VideoFrame.from_ndarray(canvas, format="bgr24")))
            block = av.AudioFrame.from_ndarray(
                sound.read(i * per_frame, (i + 1) * per_frame)[None], format="s16", layout="mono"
            )
            block.sample_rate, block.pts = RATE_HZ, i * per_frame
            container.mux(audio.encode(block))
        container.mux(video.encode())
        container.mux(audio.encode())
    return count
