"""From footage to a measured network: encoders with and without prosody, decoder, joint training, report."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpu_engine.inference.onnx import open_session
from gpu_engine.training.lip_head.data import COLUMNS, FEATURES, Footage, LipBasis, fit_basis, gather
from gpu_engine.training.lip_head.export import export
from gpu_engine.training.lip_head.measure import EnergyMouth, measure, probe_r
from gpu_engine.training.lip_head.model import CODE, FaceDecoder, LipEncoder, parameters
from gpu_engine.training.lip_head.train import (
    Say,
    Schedule,
    masked,
    run_decoder,
    run_encoder,
    train_decoder,
    train_encoder,
    train_joint,
    without_prosody,
)

ENCODER_STEPS = 4000
HELD_OUT = ("sentences", "voice")
COMPARED_FRAMES = 1000
"""Of each held-out set, for the comparison of methods; the exported network is measured on all."""

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def learn(speech: list[Path], film: list[Path], out: Path, schedule: Schedule, say: Say) -> dict[str, Any]:
    """Train, measure, export to ``out``/head.onnx and write ``out``/metrics.json; returns the report.

    Every method is drawn by the same decoder, so that the comparison is between ways to hear, not between painters. The last
    row is the exported network, trained jointly.
    """
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    data = gather(speech, film)
    basis = fit_basis(data, CODE)
    rows = data.rows("train")
    codes = basis.code_in_parts(data.rest, data.speaking, rows)
    say(
        f"{len(rows)} frames to learn from, {len(data.rows(*HELD_OUT))} held out, probe r {probe_r(data, basis, rows[::7]):.3f}"
    )
    audio = data.audio[rows]
    heard, deaf = _encoders(audio, codes, basis, schedule, out / "encoders.pt", say)
    energy = EnergyMouth.fit(audio, codes / basis.scale)
    _say_codes(data, basis, heard, deaf, energy, say)
    decoder = _decoder(data, basis, schedule, out / "decoder.pt", say)
    report: dict[str, Any] = {"sets": _compare(data, basis, decoder, heard, deaf, energy)}
    say(json.dumps(report["sets"], indent=1))
    head = train_joint(data, heard, decoder, schedule.joint_min, say)
    torch.save(head.state_dict(), out / "head.pt")
    worst = export(head, out / "head.onnx", FEATURES.rows, COLUMNS)
    session = open_session(out / "head.onnx", cpu_only=True)
    for name in HELD_OUT:
        for label, held in (("network", data.first_rows(name, COMPARED_FRAMES)), ("network, whole set", data.rows(name))):
            report["sets"][name][label] = measure(data, basis, held, _exported(session, data, held)).as_dict()
    report |= {
        "parameters": parameters(head), "training_frames": len(rows), "onnx_bytes": (out / "head.onnx").stat().st_size,
        "onnx_minus_torch": worst, "training_minutes": round((time.monotonic() - started) / 60, 1),
        "training_voices": "see texts.VOICES", "torch": torch.__version__,
    }  # fmt: skip
    (out / "metrics.json").write_text(json.dumps(report, indent=1) + "\n")
    say(json.dumps(report, indent=1))
    return report


def _encoders(
    audio: Floats, codes: Floats, basis: LipBasis, schedule: Schedule, kept: Path, say: Say
) -> tuple[LipEncoder, LipEncoder]:
    """With and without prosody, alike in all else; those of an earlier run that was stopped are taken up."""
    found = LipEncoder(FEATURES.rows), LipEncoder(FEATURES.rows)
    if kept.exists():
        for encoder, state in zip(found, torch.load(kept), strict=True):
            encoder.load_state_dict(state)
            encoder.eval()
        return found
    heard = train_encoder(audio, codes, basis, schedule.encoder_min, ENCODER_STEPS, say)
    deaf = train_encoder(without_prosody(audio), codes, basis, schedule.encoder_min, ENCODER_STEPS, say)
    torch.save([heard.state_dict(), deaf.state_dict()], kept)
    return heard, deaf


def _decoder(data: Footage, basis: LipBasis, schedule: Schedule, kept: Path, say: Say) -> FaceDecoder:
    if kept.exists():
        decoder = FaceDecoder()
        decoder.load_state_dict(torch.load(kept))
        decoder.to(memory_format=torch.channels_last).eval()
        return decoder
    decoder = train_decoder(data, basis, schedule.decoder_min, say)
    torch.save(decoder.state_dict(), kept)
    return decoder


def _exported(session: Any, data: Footage, rows: NDArray[np.int64]) -> Bytes:
    """What the exported network draws, uint8[n, 96, 96, 3]."""
    parts = []
    for i in range(0, len(rows), 16):
        batch = rows[i : i + 16]
        (mouth,) = session.run(None, {"face": masked(data.rest[batch]), "audio": data.audio[batch]})
        parts.append((mouth * 255 + 0.5).clip(0, 255).astype(np.uint8).transpose(0, 2, 3, 1))
    return np.concatenate(parts)


def _say_codes(data: Footage, basis: LipBasis, heard: LipEncoder, deaf: LipEncoder, energy: EnergyMouth, say: Say) -> None:
    for name in HELD_OUT:
        held = data.rows(name)
        audio = data.audio[held]
        true = basis.opening(basis.code(data.rest[held], data.speaking[held]))
        found = {
            "prosody": run_encoder(heard, audio), "without": run_encoder(deaf, without_prosody(audio)),
            "energy": energy.codes(audio),
        }  # fmt: skip
        lines = ", ".join(f"{k} {np.corrcoef(basis.opening(v * basis.scale), true)[0, 1]:.3f}" for k, v in found.items())
        say(f"opening r in codes, {name}: {lines}")


def _compare(
    data: Footage, basis: LipBasis, decoder: FaceDecoder, heard: LipEncoder, deaf: LipEncoder, energy: EnergyMouth
) -> dict[str, Any]:
    sets: dict[str, Any] = {}
    for name in HELD_OUT:
        held = data.first_rows(name, COMPARED_FRAMES)
        audio, rest = data.audio[held], data.rest[held]
        drawn = {
            "mouth at rest": rest,
            "energy-driven": run_decoder(decoder, rest, energy.codes(audio)),
            "encoder without prosody": run_decoder(decoder, rest, run_encoder(deaf, without_prosody(audio))),
            "encoder with prosody": run_decoder(decoder, rest, run_encoder(heard, audio)),
            "true codes": run_decoder(decoder, rest, basis.code(rest, data.speaking[held]) / basis.scale),
        }
        sets[name] = {"probe_r": round(probe_r(data, basis, held), 4)}
        sets[name] |= {method: measure(data, basis, held, faces).as_dict() for method, faces in drawn.items()}
    return sets
