"""Clips as the protocol wants them: WAV, 24 kHz, mono, 16 bits."""

from __future__ import annotations

import io
import struct
import wave
from dataclasses import dataclass

__all__ = ["CLIP_RATE_HZ", "Sound", "clip_bytes", "is_clip", "parse_wav"]

CLIP_RATE_HZ = 24_000
_EMPTY_S = 0.3
_HEADER_BYTES = 44


@dataclass(frozen=True, slots=True)
class Sound:
    """Mono samples of 16 bits, little endian, as a synthesiser made them."""

    rate_hz: int
    samples: bytes


def parse_wav(data: bytes) -> Sound:
    """Read a mono 16-bit WAV, also one that was streamed and names no true length.

    Raises :class:`ValueError` for anything else.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("no WAV")
    place, rate_hz = 12, 0
    while place + 8 <= len(data):
        name, size = data[place : place + 4], struct.unpack_from("<I", data, place + 4)[0]
        start = place + 8
        if name == b"fmt " and start + 16 <= len(data):
            kind, channels, rate_hz, _, _, bits = struct.unpack_from("<HHIIHH", data, start)
            if (kind, channels, bits) != (1, 1, 16) or not rate_hz:
                raise ValueError("no mono 16-bit WAV")
        elif name == b"data" and rate_hz:
            samples = data[start : start + size]
            return Sound(rate_hz, samples[: len(samples) // 2 * 2])
        place = start + size + size % 2
    raise ValueError("a WAV without samples")


def clip_bytes(sound: Sound) -> bytes:
    """Return a sound as a clip; what can't be spoken becomes a short silence."""
    samples = sound.samples
    if not samples:
        samples = bytes(2 * int(_EMPTY_S * CLIP_RATE_HZ))
    elif sound.rate_hz != CLIP_RATE_HZ:
        samples = _resampled(sound)
    target = io.BytesIO()
    with wave.open(target, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(CLIP_RATE_HZ)
        writer.writeframes(samples)
    return target.getvalue()


def _resampled(sound: Sound) -> bytes:
    import numpy as np
    import soxr

    given = np.frombuffer(sound.samples, dtype="<i2")
    made = soxr.resample(given, sound.rate_hz, CLIP_RATE_HZ, quality="HQ")
    return bytes(made.astype("<i2").tobytes())


def is_clip(data: bytes) -> bool:
    """Return whether these bytes are a whole clip as :func:`clip_bytes` makes them."""
    return (
        len(data) > _HEADER_BYTES
        and data[:4] == b"RIFF"
        and struct.unpack_from("<I", data, 4)[0] == len(data) - 8
        and struct.unpack_from("<I", data, 24)[0] == CLIP_RATE_HZ
    )
