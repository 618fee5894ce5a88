"""Training in three steps: sound to lip code, lip code to face, both together. One thread, minutes not hours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpu_engine.training.lip_head.data import MASK_TOP, Footage, LipBasis, fit_linear
from gpu_engine.training.lip_head.model import FaceDecoder, LipEncoder, LipHead

Say = Callable[[str], None]
PROSODY_ROWS = 3
_BATCH = 16


@dataclass(frozen=True, slots=True)
class Schedule:
    """Minutes of CPU time for each step; training stops on time whatever was reached."""

    encoder_min: float = 3.0
    decoder_min: float = 1.7
    joint_min: float = 3.5


def masked(rest: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The network's face input of faces at rest uint8[n, 96, 96, 3]: float32[n, 6, 96, 96] in 0..1, masked then whole."""
    face = rest.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
    hidden = face.copy()
    hidden[:, :, MASK_TOP:] = 0.0
    return np.concatenate([hidden, face], axis=1)


def varied(audio: Tensor, generator: torch.Generator) -> Tensor:
    """Windows as another voice, room or microphone might give them: gain, tilt, formant shift, pitch shift, noise."""
    n, rows, _ = audio.shape
    bands = rows - PROSODY_ROWS
    out = audio.clone()

    def uniform(*size: int) -> Tensor:
        return torch.rand(*size, generator=generator) * 2 - 1

    shift = int(torch.randint(-2, 3, (1,), generator=generator))
    if shift:
        out[:, :bands] = torch.roll(out[:, :bands], shift, dims=1)
    gain = uniform(n, 1, 1) * 0.24
    tilt = uniform(n, 1, 1) * 0.16 * torch.linspace(-1, 1, bands)[None, :, None]
    loud = out[:, :bands] > -0.99
    out[:, :bands] = torch.where(loud, out[:, :bands] + gain + tilt, out[:, :bands]).clamp_min(-1.0)
    floor = -1.0 + 0.5 * torch.rand(n, 1, 1, generator=generator) * (torch.rand(n, 1, 1, generator=generator) < 0.3)
    out[:, :bands] = torch.maximum(out[:, :bands], floor) + 0.03 * torch.randn(n, bands, 1, generator=generator)
    out[:, bands + 1 : bands + 2] += gain * 1.25
    voiced = out[:, bands : bands + 1] > 0
    out[:, bands : bands + 1] = torch.where(voiced, out[:, bands : bands + 1] + uniform(n, 1, 1) * 0.6, 0.0)
    return out


def without_prosody(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same windows with the three prosody rows silent, for the ablation."""
    out = audio.copy()
    out[:, -PROSODY_ROWS:] = 0.0
    return out


def train_encoder(
    audio: NDArray[np.float32], codes: NDArray[np.float32], basis: LipBasis, minutes: float, steps: int, say: Say
) -> LipEncoder:
    """Sound to code: L1 in units of what each component changes in the picture, and of the opening it shows.

    Frames with lips shut count more: they are few, short, and what a viewer sees first. Stops after ``steps`` or ``minutes``.
    """
    torch.manual_seed(5)
    generator = torch.Generator().manual_seed(6)
    scale, probe = basis.scale, torch.from_numpy(basis.probe)
    encoder = LipEncoder(audio.shape[1])
    x, y = torch.from_numpy(audio), torch.from_numpy(codes / scale)
    weight = torch.from_numpy(scale / scale.max())
    optimiser = torch.optim.AdamW(encoder.parameters(), 2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps)
    started, losses = time.process_time(), []
    encoder.train()
    for step in range(steps):
        rows = torch.randint(len(x), (96,), generator=generator)
        found, goal = encoder(varied(x[rows], generator)), y[rows]
        opening, wanted = found @ probe[:-1] + probe[-1], goal @ probe[:-1] + probe[-1]
        shut = 1.0 + 3.0 * torch.exp(-((wanted / 0.06) ** 2))
        loss = ((found - goal).abs() * weight * shut[:, None]).mean() + ((opening - wanted).abs() * shut).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        if step % 400 == 399:
            say(f"encoder: step {step + 1} of {steps}, loss {np.mean(losses[-400:]):.4f}")
        if time.process_time() - started > minutes * 60:
            say(f"encoder: out of time at step {step + 1}")
            break
    encoder.eval()
    return encoder


def _lip_weight() -> Tensor:
    """Weight of each pixel, (1, 1, 96, 96): lips and chin count most."""
    y, x = torch.meshgrid(torch.arange(96.0), torch.arange(96.0), indexing="ij")
    bump = torch.exp(-(((x - 48) / 24) ** 2) - ((y - 47) / 18) ** 2)
    return (0.35 + 4.0 * bump)[None, None]


def _picture_loss(out: Tensor, goal: Tensor, weight: Tensor) -> Tensor:
    """Weighted L1 of the picture and of its gradients, which keeps edges of lips and teeth."""
    error = out - goal
    dx, dy = error[..., 1:] - error[..., :-1], error[..., 1:, :] - error[..., :-1, :]
    return (
        (error.abs() * weight).mean() + 0.7 * (dx.abs() * weight[..., 1:]).mean() + 0.7 * (dy.abs() * weight[..., 1:, :]).mean()
    )


def _batches(rows: NDArray[np.int64], seed: int) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    while True:
        mixed = rng.permutation(rows)
        for i in range(0, len(mixed) - _BATCH + 1, _BATCH):
            yield mixed[i : i + _BATCH]


def _rate(fraction: float, peak: float) -> float:
    return peak * min(1.0, fraction / 0.05 + 0.05) * (0.5 + 0.5 * float(np.cos(np.pi * min(1.0, fraction))))


def train_decoder(data: Footage, basis: LipBasis, minutes: float, say: Say) -> FaceDecoder:
    """Code to face, with the true codes of the footage, a little disturbed so that it copes with an encoder's."""
    torch.manual_seed(7)
    decoder = FaceDecoder()
    rows = data.rows("train")
    codes = basis.code_in_parts(data.rest, data.speaking, rows)
    with torch.no_grad():
        weight_of, bias = fit_linear(data, basis, codes, rows)
        decoder.base.weight.copy_(torch.from_numpy(weight_of))
        decoder.base.bias.copy_(torch.from_numpy(bias))
    position = {int(row): i for i, row in enumerate(rows)}
    scale, weight = torch.from_numpy(basis.scale), _lip_weight()
    optimiser = torch.optim.AdamW(
        [p for n, p in decoder.named_parameters() if not n.startswith("base.")], 2e-3, weight_decay=0.01
    )
    started, losses = time.process_time(), []
    decoder.to(memory_format=torch.channels_last)
    for step, batch in enumerate(_batches(rows, 8), 1):
        fraction = (time.process_time() - started) / (minutes * 60)
        if fraction >= 1.0:
            break
        for group in optimiser.param_groups:
            group["lr"] = _rate(fraction, 1.5e-3)
        face = torch.from_numpy(masked(data.rest[batch])).contiguous(memory_format=torch.channels_last)
        goal = torch.from_numpy(data.speaking[batch].transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255))
        code = torch.from_numpy(codes[[position[int(r)] for r in batch]])
        code = code + 0.05 * scale * torch.randn(code.shape)
        with torch.autocast("cpu", torch.bfloat16):
            out = decoder(face, code / scale)
        loss = _picture_loss(out.float(), goal, weight)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if step % 100 == 0:
            say(f"decoder: step {step}, {fraction:.0%} of its time, loss {np.mean(losses[-100:]):.5f}")
    decoder.eval()
    return decoder


def train_joint(data: Footage, encoder: LipEncoder, decoder: FaceDecoder, minutes: float, say: Say) -> LipHead:
    """Both together on the picture, the encoder at a tenth of the rate."""
    torch.manual_seed(9)
    generator = torch.Generator().manual_seed(10)
    head = LipHead(encoder, decoder)
    head.encoder.train()
    head.encoder.temporal.apply(_freeze_statistics)
    head.decoder.train()
    weight = _lip_weight()
    optimiser = torch.optim.AdamW(
        [{"params": encoder.parameters(), "peak": 2e-4}, {"params": decoder.parameters(), "peak": 1e-3}], weight_decay=0.01
    )
    started, losses = time.process_time(), []
    for step, batch in enumerate(_batches(data.rows("train"), 11), 1):
        fraction = (time.process_time() - started) / (minutes * 60)
        if fraction >= 1.0:
            break
        for group in optimiser.param_groups:
            group["lr"] = _rate(fraction, group["peak"])
        face = torch.from_numpy(masked(data.rest[batch])).contiguous(memory_format=torch.channels_last)
        goal = torch.from_numpy(data.speaking[batch].transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255))
        code = head.encoder(varied(torch.from_numpy(data.audio[batch]), generator))
        with torch.autocast("cpu", torch.bfloat16):
            out = head.decoder(face, code)
        loss = _picture_loss(out.float(), goal, weight)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if step % 100 == 0:
            say(f"joint: step {step}, {fraction:.0%} of its time, loss {np.mean(losses[-100:]):.5f}")
    head.eval()
    return head


def _freeze_statistics(module: torch.nn.Module) -> None:
    if isinstance(module, torch.nn.BatchNorm1d):
        module.eval()


def run_encoder(encoder: LipEncoder, audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """Codes in units of the basis' scale, float32[n, k]."""
    with torch.inference_mode():
        return np.asarray(torch.cat([encoder(torch.from_numpy(a)) for a in np.array_split(audio, 1 + len(audio) // 512)]))


def run_decoder(decoder: FaceDecoder, rest: NDArray[np.uint8], codes: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Faces uint8[n, 96, 96, 3] of codes in units of the basis' scale."""
    out = []
    with torch.inference_mode():
        for i in range(0, len(rest), 32):
            face = torch.from_numpy(masked(rest[i : i + 32])).contiguous(memory_format=torch.channels_last)
            with torch.autocast("cpu", torch.bfloat16):
                drawn = decoder(face, torch.from_numpy(codes[i : i + 32].astype(np.float32)))
            out.append(to_bytes(drawn.float()))
    return np.concatenate(out)


def to_bytes(faces: Tensor) -> NDArray[np.uint8]:
    """(n, 3, 96, 96) in 0..1 to uint8[n, 96, 96, 3]."""
    return np.asarray((faces * 255 + 0.5).clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous())
