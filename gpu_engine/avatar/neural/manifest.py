"""Reads ``head.json`` (format ``lumihost-neural-head`` version 1, see docs/neural-heads.md) and refuses what it cannot mean."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gpu_engine.avatar.renderer import AvatarError

FORMAT = "lumihost-neural-head"
VERSION = 1
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Positive = Annotated[int, Field(gt=0, le=8192)]
CropSide = Annotated[int, Field(gt=0, le=1024)]
"""Pixels. Known networks see 96 to 512; preparing a loop takes time and memory with the square of it."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FileRef(_Model):
    """A file beside the manifest, by name and hash."""

    file: str
    sha256: Sha256

    @model_validator(mode="after")
    def _beside(self) -> FileRef:
        if Path(self.file).name != self.file:
            raise ValueError(f"file '{self.file}' must lie beside head.json, without a folder in its name")
        return self


class Loop(FileRef):
    """The recorded loop. ``first`` and ``last`` are frame numbers (last included); without them the analysis chooses."""

    fps: float = Field(gt=0, le=120)
    first: int | None = Field(default=None, ge=0)
    last: int | None = Field(default=None, ge=1)
    mode: Literal["cut", "pingpong"] | None = None
    fade_frames: int = Field(default=8, ge=0, le=60)
    open_frames: tuple[int, ...] | None = Field(default=None, description="frames in which the mouth is open")


class Encoder(FileRef):
    """A network that turns sound into features (whisper, hubert): ``input`` columns of log-mel or a waveform."""

    input: Literal["mel", "waveform"]
    rate_hz: float = Field(ge=1, le=200, description="feature steps a second")
    width: Positive
    context_s: float = Field(default=2.0, gt=0.1, le=30)


class AudioFeature(_Model):
    """How the network hears. ``window`` and ``look_ahead`` count columns (or encoder steps); times in samples."""

    kind: Literal["log-mel", "mel-wav2lip", "whisper", "hubert", "logmel+prosody"]
    sample_rate_hz: Literal[16000, 24000, 48000] = 16000
    hop: int = Field(default=160, ge=16, le=4800)
    n_fft: int = Field(default=512, ge=64, le=8192)
    bands: int = Field(default=80, ge=8, le=256)
    low_hz: float = Field(default=55.0, ge=0)
    high_hz: float = Field(default=7600.0, gt=0)
    window: int = Field(ge=1, le=512)
    look_ahead: int = Field(ge=0, le=512, description="columns of the window from the frame's middle on")
    encoder: Encoder | None = None

    @model_validator(mode="after")
    def _complete(self) -> AudioFeature:
        if self.look_ahead > self.window:
            raise ValueError(f"look_ahead {self.look_ahead} is longer than the window of {self.window}")
        if (self.kind in ("whisper", "hubert")) != (self.encoder is not None):
            raise ValueError(f"audio feature '{self.kind}' {'needs' if self.encoder is None else 'takes no'} 'encoder'")
        if self.low_hz >= self.high_hz:
            raise ValueError(f"bands from low_hz {self.low_hz:g} to high_hz {self.high_hz:g} are empty")
        if self.high_hz > self.sample_rate_hz / 2:
            raise ValueError(f"high_hz {self.high_hz:g} lies above half the sample rate of {self.sample_rate_hz}")
        return self


class Latent(_Model):
    """A VAE around the network: crops are encoded before it and its output is decoded after it."""

    encoder: FileRef
    decoder: FileRef
    channels: Positive = 4
    size: Positive = 32


class ImageInput(_Model):
    """What the network sees: the masked crop, with the whole recorded crop behind it when ``reference``."""

    name: str
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    width: CropSide
    height: CropSide
    colour: Literal["BGR", "RGB"] = "BGR"
    low: float = 0.0
    high: float = 1.0
    mask: Literal["lower-half", "box"]
    mask_box: tuple[int, int, int, int] | None = Field(default=None, description="x0, y0, x1, y1 px, for mask 'box'")
    reference: bool = True
    order: Literal["masked-first", "reference-first"] = "masked-first"
    latent: Latent | None = None

    @model_validator(mode="after")
    def _possible(self) -> ImageInput:
        if (self.mask == "box") != (self.mask_box is not None):
            raise ValueError("mask 'box' needs 'mask_box', mask 'lower-half' takes none")
        if self.mask_box is not None:
            x0, y0, x1, y1 = self.mask_box
            if not (0 <= x0 < x1 <= self.width and 0 <= y0 < y1 <= self.height):
                raise ValueError(f"mask_box {self.mask_box} does not lie in the crop of {self.width}x{self.height}")
        if self.low >= self.high:
            raise ValueError(f"value range {self.low:g} to {self.high:g} is empty")
        return self

    @property
    def channels(self) -> int:
        """Of the network's image input."""
        one = self.latent.channels if self.latent else 3
        return one * (2 if self.reference else 1)


class AudioInput(_Model):
    """The sound input: its shape without the batch, and whether the window lies in it band by band or column by column."""

    name: str
    shape: tuple[Positive, ...] = Field(min_length=1, max_length=4)
    order: Literal["bands-time", "time-bands"] = "bands-time"


class Output(_Model):
    """The network's picture: value range, and colour order when it differs from the input's."""

    name: str
    low: float = 0.0
    high: float = 1.0

    @model_validator(mode="after")
    def _possible(self) -> Output:
        if self.low >= self.high:
            raise ValueError(f"value range {self.low:g} to {self.high:g} is empty")
        return self


class CropTemplate(_Model):
    """Where the crop lies: ``landmarks`` brings five points onto ``template`` (px in the crop), ``box`` uses a box a frame.

    ``file`` is an .npz with ``points`` float32[frames, 5, 2] or ``boxes`` float32[frames, 4], px of the loop.
    """

    kind: Literal["landmarks", "box"]
    file: str
    sha256: Sha256
    template: tuple[tuple[float, float], ...] | None = None

    @model_validator(mode="after")
    def _complete(self) -> CropTemplate:
        if Path(self.file).name != self.file:
            raise ValueError(f"file '{self.file}' must lie beside head.json, without a folder in its name")
        if (self.kind == "landmarks") != (self.template is not None) or (self.template and len(self.template) != 5):
            raise ValueError("crop 'landmarks' needs a 'template' of five points, crop 'box' takes none")
        return self


class Paste(_Model):
    """The part of the crop that comes back, an ellipse-cornered box in shares of the crop, and how softly.

    ``detail`` keeps the recording's own grain where the network changed little.
    """

    box: tuple[float, float, float, float] = (0.06, 0.25, 0.94, 0.97)
    feather: float = Field(default=0.14, gt=0, le=0.5)
    detail: bool = True

    @model_validator(mode="after")
    def _inside(self) -> Paste:
        x0, y0, x1, y1 = self.box
        if not (0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1):
            raise ValueError(f"paste box {self.box} must lie in 0..1")
        return self


class Licence(_Model):
    """Under which terms the network and the recording may be used."""

    spdx: str
    origin: str
    attribution: str = ""


class Consent(_Model):
    """Whose face this is, and that they agreed."""

    subject: Literal["synthetic", "person"]
    statement: str = Field(min_length=1)
    granted_by: str = ""
    granted_on: str = ""
    evidence_sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _granted(self) -> Consent:
        if self.subject == "person" and not (self.granted_by and self.granted_on and self.evidence_sha256):
            raise ValueError("a person's head needs 'granted_by', 'granted_on' and 'evidence_sha256' of the signed consent")
        return self


class Head(_Model):
    """``head.json``, checked. ``folder`` is where it lies."""

    format: Literal["lumihost-neural-head"]
    version: Literal[1]
    name: str = Field(min_length=1, max_length=80)
    display_name: dict[Literal["zh", "en"], str] = Field(default_factory=dict)
    network: FileRef
    loop: Loop
    audio_feature: AudioFeature
    image: ImageInput
    audio: AudioInput
    output: Output
    crop: CropTemplate
    paste: Paste = Paste()
    batch: Literal[1, 2, 4, 8] = 1
    licence: Licence
    consent: Consent
    folder: Path = Path()

    @model_validator(mode="after")
    def _fits(self) -> Head:
        feature = self.audio_feature
        rows = feature.encoder.width if feature.encoder else feature.bands + (3 if feature.kind == "logmel+prosody" else 0)
        values = 1
        for side in self.audio.shape:
            values *= side
        if values != rows * feature.window:
            raise ValueError(
                f"audio shape {list(self.audio.shape)} holds {values} values, a window of {feature.window} columns of {rows} "
                f"holds {rows * feature.window}"
            )
        return self

    def path(self, ref: FileRef | CropTemplate) -> Path:
        """Where a file of this head lies."""
        return self.folder / ref.file

    def files(self) -> list[FileRef | CropTemplate]:
        """Every file it names."""
        found: list[FileRef | CropTemplate] = [self.network, self.loop, self.crop]
        if self.audio_feature.encoder:
            found.append(self.audio_feature.encoder)
        if self.image.latent:
            found += [self.image.latent.encoder, self.image.latent.decoder]
        return found


def load_head(path: str | Path, *, verify: bool = True) -> Head:
    """Read a head's manifest; with ``verify`` every file is there and has its hash.

    Raises:
        AvatarError: naming the file, the field and the way out.
    """
    where = Path(path)
    try:
        raw: Any = json.loads(where.read_text("utf-8"))
    except FileNotFoundError:
        raise AvatarError(f"{where} is missing: give the path of a head.json") from None
    except (OSError, ValueError, RecursionError) as error:
        raise AvatarError(f"{where} cannot be read as JSON: {error}") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise AvatarError(f"{where}: format is not '{FORMAT}'; see docs/neural-heads.md")
    if raw.get("version") != VERSION:
        raise AvatarError(f"{where}: version {raw.get('version')!r} is not read by this engine (reads {VERSION})")
    raw.pop("folder", None)
    try:
        head = Head(**raw, folder=where.parent)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "head"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise AvatarError(
            f"{where}: {field}: {first['msg'].removeprefix('Value error, ')}{more}; see docs/neural-heads.md"
        ) from None
    if verify:
        for ref in head.files():
            _check(head.path(ref), ref.sha256)
    return head


def sha256_of(path: Path) -> str:
    """Hex digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _check(path: Path, listed: str) -> None:
    try:
        digest = sha256_of(path)
    except FileNotFoundError:
        raise AvatarError(f"{path} is missing: copy the head again") from None
    except OSError as error:
        raise AvatarError(f"{path} cannot be read: {error}") from None
    if digest != listed:
        raise AvatarError(f"{path} is damaged: SHA-256 {digest[:12]}… is not {listed[:12]}… as listed; copy the head again")
