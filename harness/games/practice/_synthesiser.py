"""Text to speech behind one small protocol, always in a process that can be killed.

Found in this order: the eSpeak NG library that ``pip install hotseat`` brings
along, the ``espeak-ng`` program, the ``flite`` program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import MissingError
from harness.games.practice._wav import Sound, clip_bytes, parse_wav

__all__ = [
    "MAX_SPOKEN_CHARS",
    "EspeakLibrary",
    "EspeakProgram",
    "FliteProgram",
    "SpeechError",
    "Synthesiser",
    "find_synthesiser",
    "speakable",
]

MAX_SPOKEN_CHARS = 2000
_MAX_SECONDS = 240.0
_TIMEOUT_S = 15.0
_VOICE = "en-us"
_CHILD = Path(__file__).with_name("_espeak_child.py")


class SpeechError(MissingError):
    """A text that could not be spoken this time."""


class Synthesiser(Protocol):
    """Speaks English.

    ``identity`` changes whenever the same text would sound different; it is
    part of the key under which clips are kept.
    """

    @property
    def identity(self) -> str:
        """A short name with version and voice."""

    def speak(self, text: str) -> bytes:
        """Return ``text`` as a clip: WAV, 24 kHz, mono, 16 bits.

        Blocks for a moment; raises :class:`SpeechError` when it fails.
        """


def speakable(text: str) -> str:
    """Return what is spoken of a text: one line, no control characters, bounded.

    Control characters are commands to some synthesisers.  Markup needs no
    care: the synthesisers are told to read it out.
    """
    kept = "".join(
        " " if unicodedata.category(char)[0] in "CZ" else char
        for char in unicodedata.normalize("NFC", text[: 4 * MAX_SPOKEN_CHARS])
    )
    line = " ".join(kept.split())
    if len(line) <= MAX_SPOKEN_CHARS:
        return line
    return line[:MAX_SPOKEN_CHARS].rpartition(" ")[0] or line[:MAX_SPOKEN_CHARS]


def _run(command: Sequence[str], text: str, timeout_s: float) -> bytes:
    """Return what a program makes of a text on its standard input."""
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
            # Nothing of ours is its business; it only needs what starts a program.
            env={k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "SYSTEMROOT")},
        )
    except subprocess.TimeoutExpired:
        raise SpeechError(f"Speech synthesis took longer than {timeout_s:.0f} s.") from None
    except OSError as error:
        raise SpeechError(f"Can't start {command[0]}: {error.strerror or error}.") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise SpeechError(f"Speech synthesis failed: {reason}.")
    return done.stdout


@dataclass(frozen=True, slots=True)
class EspeakLibrary:
    """The eSpeak NG library of the ``espeakng-loader`` package."""

    library: str
    data: str
    version: str
    timeout_s: float = _TIMEOUT_S

    @property
    def identity(self) -> str:
        """Package, version and voice."""
        return f"espeakng-loader {self.version} {_VOICE}"

    def speak(self, text: str) -> bytes:
        """Return ``text`` as a clip."""
        command = [sys.executable, "-I", "-S", str(_CHILD), self.library, self.data]
        spoken = _run([*command, _VOICE, str(_MAX_SECONDS)], speakable(text), self.timeout_s)
        return clip_bytes(Sound(int.from_bytes(spoken[:4], "little"), spoken[4:]))


@dataclass(frozen=True, slots=True)
class EspeakProgram:
    """The ``espeak-ng`` program."""

    program: str
    timeout_s: float = _TIMEOUT_S

    @property
    def identity(self) -> str:
        """Program and voice."""
        return f"espeak-ng {_VOICE}"

    def speak(self, text: str) -> bytes:
        """Return ``text`` as a clip."""
        command = [self.program, "-v", _VOICE, "-b", "1", "--stdin", "--stdout"]
        spoken = _run(command, speakable(text), self.timeout_s)
        return clip_bytes(_parsed(spoken) if spoken else Sound(1, b""))


@dataclass(frozen=True, slots=True)
class FliteProgram:
    """The ``flite`` program."""

    program: str
    timeout_s: float = _TIMEOUT_S

    @property
    def identity(self) -> str:
        """Program and voice."""
        return "flite slt"

    def speak(self, text: str) -> bytes:
        """Return ``text`` as a clip."""
        with tempfile.TemporaryDirectory(prefix="hotseat-") as folder:
            said, sound = Path(folder, "text"), Path(folder, "sound.wav")
            said.write_text(speakable(text), encoding="utf-8")
            command = [self.program, "-voice", "slt", "-f", str(said), "-o", str(sound)]
            _run(command, "", self.timeout_s)
            return clip_bytes(_parsed(sound.read_bytes()) if sound.is_file() else Sound(1, b""))


def _parsed(data: bytes) -> Sound:
    try:
        return parse_wav(data)
    except ValueError as error:
        raise SpeechError(f"Speech synthesis gave {error}.") from None


def find_synthesiser() -> Synthesiser | None:
    """Return the best synthesiser that is there, ``None`` without any."""
    library = _library()
    if library is not None:
        return library
    if program := shutil.which("espeak-ng"):
        return EspeakProgram(program)
    if program := shutil.which("flite"):
        return FliteProgram(program)
    return None


def _library() -> EspeakLibrary | None:
    try:
        import espeakng_loader
    except ImportError:
        return None
    from importlib.metadata import version

    library = Path(espeakng_loader.get_library_path())
    data = Path(library.parent, "espeak-ng-data")
    if not library.is_file() or not data.is_dir():
        return None
    return EspeakLibrary(str(library), str(data), version("espeakng-loader"))
