"""What the video encoder promises: the picture that went in comes out, whatever its size, and none waits inside."""

from __future__ import annotations

import av
import cv2
import numpy as np
import pytest
from av.video.codeccontext import VideoCodecContext

from gpu_engine.body.encoder import VideoEncoder
from gpu_engine.session.spec import Video

pytestmark = pytest.mark.media


def pictures(width: int, height: int, count: int) -> list[np.ndarray]:
    """Coloured blocks that move two pixels a frame."""
    y, x = np.mgrid[0:height, 0:width]
    blue, green, red = (x // 48 * 37) % 200 + 20, (y // 48 * 53) % 200 + 20, ((x + y) // 64 * 71) % 200 + 20
    still = np.stack([blue, green, red], -1).astype(np.uint8)
    return [np.roll(still, -2 * i, axis=1) for i in range(count)]


@pytest.mark.parametrize("size", [(640, 360), (642, 362), (360, 640), (854, 480), (644, 362)])
def test_the_picture_that_went_in_comes_out(size: tuple[int, int]) -> None:
    encoder = VideoEncoder(Video(width=size[0], height=size[1], bitrate_kbps=4000))
    sent = pictures(*size, 6)
    packets = [list(encoder.encode(picture, i * 3600, 0)) for i, picture in enumerate(sent)]
    assert [len(p) for p in packets] == [1] * 6
    decoder = av.CodecContext.create("h264", "r")
    assert isinstance(decoder, VideoCodecContext)
    shown = [f for p in packets for f in decoder.decode(av.Packet(p[0].data))] + decoder.decode(None)
    assert len(shown) == 6
    for picture, frame in zip(sent, shown, strict=True):
        # Chroma at half size costs what it costs; a plane read from the wrong place would leave 20 dB.
        assert cv2.PSNR(picture, frame.to_ndarray(format="bgr24")) > 26
