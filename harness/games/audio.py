"""The quiz's audio clips: a WAV header read without trusting it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from harness.games.errors import QuizProtocolError

__all__ = ["MAX_CLIP_BYTES", "Clip", "read_clip"]

MAX_CLIP_BYTES = 16 * 2**20
_EXPECTED = (24_000, 1, 16)
_PCM = 1
_EXTENSIBLE = 0xFFFE
_MAX_CHUNKS = 64


@dataclass(frozen=True, slots=True)
class Clip:
    """One WAV file as it came, and what its header says.

    ``note`` is empty for what the protocol promises (24,000 Hz, mono, 16 bits)
    and says in a few words what is different otherwise.
    """

    data: bytes = field(repr=False)
    sample_rate_hz: int
    channels: int
    sample_bits: int
    seconds: float
    note: str = ""


def read_clip(data: bytes, operation: str = "audio") -> Clip:
    """Return the clip that ``data`` holds.

    Raises :class:`~harness.games.errors.QuizProtocolError` unless it is a
    RIFF/WAVE file of PCM samples with at least a header's worth of sense.
    """
    if len(data) > MAX_CLIP_BYTES:
        raise _bad(operation, f"larger than {MAX_CLIP_BYTES // 2**20} MB")
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _bad(operation, "no WAV file")
    kind, channels, rate, bits, sample_bytes = _chunks(data, operation)
    if kind not in (_PCM, _EXTENSIBLE):
        raise _bad(operation, "a WAV file of something else than plain samples")
    if not (1 <= channels <= 8 and 1_000 <= rate <= 384_000 and bits in (8, 16, 24, 32)):
        raise _bad(operation, "a WAV file with a header that makes no sense")
    note = ""
    if (rate, channels, bits) != _EXPECTED:
        note = f"{rate} Hz, {channels} channel{'s' if channels > 1 else ''}, {bits} bits"
    return Clip(data, rate, channels, bits, sample_bytes / (rate * channels * bits // 8), note)


def _chunks(data: bytes, operation: str) -> tuple[int, int, int, int, int]:
    """Return format, channels, rate, bits and the bytes of samples that are really there."""
    form: tuple[int, int, int, int] | None = None
    place = 12
    for _ in range(_MAX_CHUNKS):
        if place + 8 > len(data):
            break
        name, size = data[place : place + 4], struct.unpack_from("<I", data, place + 4)[0]
        place += 8
        if name == b"fmt " and size >= 16 and place + 16 <= len(data):
            kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, place)
            form = (kind, channels, rate, bits)
        elif name == b"data":
            if form is None:
                break
            # A streamed file does not know its size: it says 0 or the largest number.
            there = len(data) - place
            return (*form, there if size in (0, 0xFFFFFFFF) else min(size, there))
        place += size + size % 2  # chunks begin at even places
    raise _bad(operation, "a WAV file without samples")


def _bad(operation: str, what: str) -> QuizProtocolError:
    return QuizProtocolError(
        f"The quiz server's reply to '{operation}' is {what}.", operation=operation
    )
