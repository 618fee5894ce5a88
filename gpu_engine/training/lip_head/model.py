"""The network: a temporal encoder of sound into a lip code, and a small U-Net that draws that code into a face."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

SIZE = 96
CODE = 24
COLUMNS = 24


class LipEncoder(nn.Module):
    """Log-mel and prosody columns (B, rows, 24) to a lip code (B, ``CODE``).

    One-dimensional convolutions over time; the code is that of the window's middle.
    """

    def __init__(self, rows: int, channels: int = 112, dropout: float = 0.1) -> None:
        super().__init__()
        self.temporal = nn.Sequential(
            nn.Conv1d(rows, channels, 3, padding=1), nn.BatchNorm1d(channels), nn.ReLU(),
            nn.Conv1d(channels, channels, 3, padding=1), nn.BatchNorm1d(channels), nn.ReLU(), nn.Dropout(dropout),
            nn.Conv1d(channels, channels, 3, stride=2, padding=1), nn.BatchNorm1d(channels), nn.ReLU(),
            nn.Conv1d(channels, channels, 3, padding=1), nn.BatchNorm1d(channels), nn.ReLU(), nn.Dropout(dropout),
            nn.Conv1d(channels, channels, 3, stride=2, padding=1), nn.BatchNorm1d(channels), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Linear(channels * COLUMNS // 4, 160), nn.ReLU(), nn.Dropout(dropout), nn.Linear(160, CODE))

    def forward(self, audio: Tensor) -> Tensor:
        """The code."""
        return self.head(self.temporal(audio).flatten(1))


class _Film(nn.Module):
    """A 3x3 convolution whose channels the lip code scales and shifts (Perez et al. 2018, "FiLM")."""

    def __init__(self, inward: int, outward: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inward, outward, 3, padding=1)
        self.condition = nn.Linear(CODE, 2 * outward)

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        """Conditioned features."""
        scale, shift = self.condition(code).chunk(2, dim=1)
        return functional.relu(self.convolution(x) * (1 + scale[..., None, None]) + shift[..., None, None])


class FaceDecoder(nn.Module):
    """Face (B, 6, 96, 96) in 0..1 (lower half masked, and whole) and code to the speaking face (B, 3, 96, 96) in 0..1.

    A linear layer gives what the code changes on average; a U-Net adds what depends on this face and pose. It works at 48x48
    and below (space to depth), so that one core keeps up. Both are added to the whole face given.
    """

    def __init__(self, widths: tuple[int, int, int, int] = (24, 40, 64, 96)) -> None:
        super().__init__()
        self.base = nn.Linear(CODE, 3 * SIZE * SIZE)
        a, b, c, d = widths
        self.e1 = nn.Conv2d(24, a, 3, padding=1)
        self.e2 = nn.Conv2d(a, b, 3, stride=2, padding=1)
        self.e3 = nn.Conv2d(b, c, 3, stride=2, padding=1)
        self.e4 = nn.Conv2d(c, d, 3, stride=2, padding=1)
        self.d4, self.d3, self.d2, self.d1 = _Film(d, d), _Film(c, c), _Film(b, b), _Film(a, a)
        self.t3, self.t2, self.t1 = nn.Conv2d(d, c, 1), nn.Conv2d(c, b, 1), nn.Conv2d(b, a, 1)
        self.out = nn.Conv2d(a, 12, 3, padding=1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, face: Tensor, code: Tensor) -> Tensor:
        """The speaking face; not clipped, so that no gradient is lost."""
        s1 = functional.relu(self.e1(functional.pixel_unshuffle(face, 2)))
        s2 = functional.relu(self.e2(s1))
        s3 = functional.relu(self.e3(s2))
        x = self.d4(functional.relu(self.e4(s3)), code)
        x = self.d3(functional.interpolate(self.t3(x), scale_factor=2.0, mode="nearest") + s3, code)
        x = self.d2(functional.interpolate(self.t2(x), scale_factor=2.0, mode="nearest") + s2, code)
        x = self.d1(functional.interpolate(self.t1(x), scale_factor=2.0, mode="nearest") + s1, code)
        base = self.base(code).view(-1, 3, SIZE, SIZE)
        return face[:, 3:] + base + functional.pixel_shuffle(self.out(x), 2)


class LipHead(nn.Module):
    """Encoder and decoder as one network, as it is exported: ``face``, ``audio`` to ``mouth``."""

    def __init__(self, encoder: LipEncoder, decoder: FaceDecoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, face: Tensor, audio: Tensor) -> Tensor:
        """The speaking face, (B, 3, 96, 96) in 0..1."""
        return self.decoder(face, self.encoder(audio)).clamp(0.0, 1.0)


def parameters(module: nn.Module) -> int:
    """Number of trained values."""
    return sum(p.numel() for p in module.parameters())
