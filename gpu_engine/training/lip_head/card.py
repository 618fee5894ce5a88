"""The model card of a trained head, written from what training measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpu_engine.avatar.neural.manifest import sha256_of
from gpu_engine.training.lip_head.texts import HELD_OUT_VOICE, SOURCES, VOICES

_COLUMNS = ("opening_r", "opening_mae", "lip_l1", "closure_hits", "false_shut", "frames", "closures")
_SETS = {"sentences": "New sentences, known voices", "voice": f"New sentences, a voice never heard ({HELD_OUT_VOICE})"}


def card(pack: str, network: Path, metrics: dict[str, Any], command: str) -> str:
    """Markdown of the card."""
    voices = ", ".join(v for names in VOICES.values() for v in names)
    minutes = metrics["training_frames"] * 2 / 25 / 60
    lines = [
        f"# Lip head of {pack}",
        "",
        "A small network that draws the speaking mouth of one rendered presenter from sound. Made for this presenter's footage "
        "and light; it is no general lip-sync model.",
        "",
        f"- **File** `{network.name}`, {network.stat().st_size / 1e6:.1f} MB, SHA-256 `{sha256_of(network)}`",
        "- **Licence** Apache-2.0. Consent: synthetic, no person is shown or was recorded.",
        f"- **Command** `{command}`",
        f"- **Data** {metrics['training_frames']} pairs of crops (mouth at rest, speaking) of pack `{pack}`, drawn by the CPU "
        f"renderer at 1280x720: every second frame of {minutes:.1f} min of synthetic speech (Kokoro-82M, voices {voices}), "
        f"lips from phonemes. Texts: {', '.join(SOURCES)}, with words of the demo shop.",
        f"- **Network** {metrics['parameters']:,} values: temporal convolutions over 24 columns of 64 log-mel bands and 3 "
        "prosody rows → lip code of 24 → linear layer and a U-Net with FiLM, on a masked and a whole crop of 96x96. ONNX "
        "opset 17, free batch.",
        f"- **Check** onnxruntime differs from torch {metrics['torch']} by at most {metrics['onnx_minus_torch']:.1e}.",
        "",
        "## Held-out measures",
        "",
        "`opening_r`: correlation of the lips' opening with the true render's, read from the picture; `opening_mae`: its mean "
        "error in jaw units; `lip_l1`: grey levels of 255 in the lip box; `closure_hits`: m, b, p drawn shut, of those the "
        "true render shuts; `false_shut`: frames wider open than the median that are drawn shut. All methods but the network's "
        "own rows are drawn by the same painter before joint training.",
    ]
    for key, title in _SETS.items():
        rows = metrics["sets"][key]
        lines += ["", f"**{title}** (the opening can be read from true pictures with r {rows['probe_r']:.3f})", ""]
        lines += ["| method | " + " | ".join(_COLUMNS) + " |", "| --- |" + " --- |" * len(_COLUMNS)]
        for method, values in rows.items():
            if isinstance(values, dict):
                cells = [f"{values[c]:.0f}" if c in ("frames", "closures") else f"{values[c]:.3f}" for c in _COLUMNS]
                lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
