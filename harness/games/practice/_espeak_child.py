"""Speaks one text with the eSpeak NG library: a program of its own, run as a file.

    python -I -S _espeak_child.py LIBRARY DATA VOICE MAX_SECONDS < text > sound

A fault of the library or an endless text then ends a child process and not
the server.  Output: the sampling rate as four bytes, little endian, then the
16-bit mono samples.  It imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import sys

__all__: list[str] = []

_SYNCHRONOUS = 2
_NO_EXIT_ON_FAULT = 0x8000
_BY_CHARACTER = 1
# UTF-8, and neither SSML nor phoneme mnemonics: markup in a text is read out.
_PLAIN_UTF8 = 1


def speak(library: str, data: str, voice: str, max_seconds: float, text: bytes) -> bytes:
    """Return rate and samples; raises :class:`RuntimeError` naming the step that failed."""
    espeak = ctypes.CDLL(library)
    rate_hz: int = espeak.espeak_Initialize(_SYNCHRONOUS, 0, data.encode(), _NO_EXIT_ON_FAULT)
    if rate_hz <= 0:
        raise RuntimeError("the library did not start")
    samples = bytearray()
    most_bytes = int(2 * rate_hz * max_seconds)

    def take(chunk: int | None, count: int, events: int | None) -> int:
        if chunk and count > 0:
            samples.extend(ctypes.string_at(chunk, 2 * count))
        return int(len(samples) >= most_bytes)

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    callback = kind(take)  # must live as long as the library may call it
    espeak.espeak_SetSynthCallback(callback)
    if espeak.espeak_SetVoiceByName(voice.encode()):
        raise RuntimeError(f"there is no voice {voice}")
    failed = espeak.espeak_Synth(
        text, ctypes.c_size_t(len(text) + 1), 0, _BY_CHARACTER, 0, _PLAIN_UTF8, None, None
    )
    espeak.espeak_Synchronize()
    if failed:
        raise RuntimeError(f"synthesis failed with {failed}")
    return rate_hz.to_bytes(4, "little") + bytes(samples[:most_bytes])


if __name__ == "__main__":
    try:
        spoken = speak(
            sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), sys.stdin.buffer.read()
        )
    except (OSError, RuntimeError) as error:
        sys.exit(f"{error}")
    sys.stdout.buffer.write(spoken)
