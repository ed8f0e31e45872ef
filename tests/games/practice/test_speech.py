"""Spoken texts: what reaches the synthesiser, real clips, and the folder that keeps them."""

import array
import asyncio
import contextlib
import io
import itertools
import os
import stat
import struct
import threading
import time
import wave
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.games.practice import SpeechError, find_synthesiser
from harness.games.practice._clips import ClipCache, Clips
from harness.games.practice._synthesiser import (
    MAX_SPOKEN_CHARS,
    EspeakProgram,
    FliteProgram,
    speakable,
)
from harness.games.practice._wav import Sound, clip_bytes, is_clip, parse_wav


@given(st.text())
def test_what_is_spoken_has_no_control_characters_and_an_end(text):
    spoken = speakable(text)
    assert len(spoken) <= MAX_SPOKEN_CHARS
    assert spoken.isprintable()
    assert spoken == spoken.strip()
    assert speakable(spoken) == spoken


def test_a_very_long_text_is_cut_between_words():
    spoken = speakable("seventeen words " * 1000)
    assert MAX_SPOKEN_CHARS - 16 < len(spoken) <= MAX_SPOKEN_CHARS
    assert spoken.endswith(("seventeen", "words"))
    assert len(speakable("x" * 10_000)) == MAX_SPOKEN_CHARS


def samples(clip):
    with wave.open(io.BytesIO(clip)) as reader:
        assert (reader.getframerate(), reader.getnchannels(), reader.getsampwidth()) == (
            24_000,
            1,
            2,
        )
        return array.array("h", reader.readframes(reader.getnframes()))


def seconds(clip):
    return len(samples(clip)) / 24_000


@pytest.fixture(scope="module")
def espeak():
    found = find_synthesiser()
    assert found is not None, "a synthesiser comes along with the package"
    return found


def test_real_speech(espeak):
    clip = espeak.speak("Option A. The Battle of Hastings.")
    assert 1.5 < seconds(clip) < 5
    heard = samples(clip)
    assert max(heard) > 3000  # it is not silent
    assert clip == espeak.speak("Option A. The Battle of Hastings.")
    assert clip != espeak.speak("Option B. The Battle of Hastings.")


def test_markup_and_commands_do_not_steer_the_voice(espeak):
    plain = seconds(espeak.speak("hello"))
    assert seconds(espeak.speak('<break time="30s"/> hello')) > plain + 0.5  # it is read out
    assert seconds(espeak.speak("<speak>hello</speak>")) > plain + 0.5
    fast = "\x01300S" + "hello there, how are you"
    assert seconds(espeak.speak(fast)) > seconds(espeak.speak("hello there, how are you"))


def test_texts_that_nothing_can_be_said_of_become_a_short_silence(espeak):
    for text in ("", " ", "\x00\x01\x02"):
        clip = espeak.speak(text)
        assert 0 < seconds(clip) < 1
        assert is_clip(clip)


def test_all_kinds_of_texts_are_spoken(espeak):
    for text in ("H₂O", "x² + 1 = 0", "Škoda & Citroën", "日本", "2026-04-22", "-v en --stdout"):
        assert seconds(espeak.speak(text)) > 0.2, text


def test_an_endless_text_is_bounded_in_time(espeak):
    assert seconds(espeak.speak("9" * 10_000)) <= 240


def test_a_synthesiser_that_hangs_is_ended(espeak, tmp_path):
    program = _program(tmp_path / "espeak-ng", "sleep 60")
    started = time.monotonic()
    with pytest.raises(SpeechError, match="longer than"):
        EspeakProgram(str(program), timeout_s=0.2).speak("hello")
    assert time.monotonic() - started < 10


def test_a_synthesiser_that_fails_says_why(espeak, tmp_path):
    program = _program(tmp_path / "espeak-ng", "echo no such voice >&2; exit 1")
    with pytest.raises(SpeechError, match="no such voice"):
        EspeakProgram(str(program)).speak("hello")
    with pytest.raises(SpeechError, match="Can't start"):
        EspeakProgram(str(tmp_path / "absent")).speak("hello")
    with pytest.raises(SpeechError, match="no WAV"):
        EspeakProgram(str(_program(tmp_path / "odd", "echo nonsense"))).speak("hello")
    with pytest.raises(SpeechError):
        replace(espeak, data=str(tmp_path)).speak("hello")


def _program(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _wav(rate, seconds_, level=9000):
    target = io.BytesIO()
    with wave.open(target, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(struct.pack("<h", level) * int(rate * seconds_))
    return target.getvalue()


def test_programs_on_the_path_are_found_and_heard(tmp_path, monkeypatch):
    sound = tmp_path / "sound.wav"
    sound.write_bytes(_wav(16_000, 0.5))
    monkeypatch.setattr("harness.games.practice._synthesiser._library", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_synthesiser() is None
    flite = _program(
        tmp_path / "flite",
        f'/bin/cat "$4" > {tmp_path}/said; /bin/cat {sound} > "$6"',
    )
    found = find_synthesiser()
    assert found == FliteProgram(str(flite))
    assert seconds(found.speak("hello; rm -rf")) == pytest.approx(0.5, abs=0.01)
    assert (tmp_path / "said").read_text() == "hello; rm -rf"
    espeak = _program(tmp_path / "espeak-ng", f"/bin/cat > {tmp_path}/heard; /bin/cat {sound}")
    found = find_synthesiser()
    assert found == EspeakProgram(str(espeak))
    assert seconds(found.speak("-v <b>x")) == pytest.approx(0.5, abs=0.01)
    assert (tmp_path / "heard").read_text() == "-v <b>x"


def test_resampling_keeps_pitch_and_length():
    import math

    rate, tone = 22_050, 440
    given_ = array.array(
        "h", [int(12_000 * math.sin(2 * math.pi * tone * n / rate)) for n in range(rate)]
    )
    heard = samples(clip_bytes(Sound(rate, given_.tobytes())))
    assert len(heard) == pytest.approx(24_000, abs=2)
    crossings = sum((a < 0) != (b < 0) for a, b in itertools.pairwise(heard))
    assert crossings == pytest.approx(2 * tone, abs=4)
    assert max(heard) == pytest.approx(12_000, rel=0.02)


def test_a_streamed_wav_without_its_true_length_is_read():
    whole = _wav(22_050, 0.25)
    streamed = bytearray(whole)
    streamed[40:44] = struct.pack("<I", 0x7FFFF000)
    assert parse_wav(bytes(streamed)) == parse_wav(whole)
    assert len(parse_wav(whole).samples) == 2 * int(22_050 * 0.25)


@given(st.binary(max_size=200), st.integers(0, 60))
def test_a_damaged_wav_is_refused_or_read_but_nothing_else(junk, keep):
    data = _wav(22_050, 0.01)[:keep] + junk
    with contextlib.suppress(ValueError):
        assert parse_wav(data).rate_hz > 0


# --- the folder of clips


def test_a_clip_is_made_once_and_kept(tmp_path, voice):
    async def play():
        clips = Clips(voice, ClipCache(tmp_path))
        first = await clips.get("hello")
        again = await clips.get("hello")
        clips.close()
        return first, again

    first, again = asyncio.run(play())
    assert first == again
    assert voice.spoken == ["hello"]
    asyncio.run(play())
    assert voice.spoken == ["hello"]  # another server finds it too


def test_many_who_want_the_same_clip_at_once_wait_for_one(tmp_path, voice):
    held, speak = threading.Event(), voice.speak

    def slow(text):
        assert held.wait(5)
        return speak(text)

    voice.speak = slow

    async def play():
        clips = Clips(voice, ClipCache(tmp_path))
        wanted = [asyncio.ensure_future(clips.get("hello")) for _ in range(20)]
        await asyncio.sleep(0)  # the loop goes on while a thread speaks
        wanted[0].cancel()  # one who leaves takes nothing from the others
        held.set()
        got = await asyncio.gather(*wanted[1:])
        clips.close()
        return got

    assert len(set(asyncio.run(play()))) == 1
    assert voice.spoken == ["hello"]


def test_a_damaged_clip_is_made_anew(tmp_path, voice):
    cache = ClipCache(tmp_path)
    cache.put("key", voice.speak("hello"))
    (path,) = tmp_path.iterdir()
    for damage in (b"", path.read_bytes()[:-3], b"x" * 500):
        path.write_bytes(damage)
        assert cache.get("key") is None


def test_the_folder_is_bounded_and_forgets_the_least_used(tmp_path, voice):
    clip = voice.speak("x" * 500)  # 1,044 bytes
    cache = ClipCache(tmp_path, max_bytes=10 * len(clip))
    for place in range(9):
        cache.put(f"clip-{place}", clip)
        os.utime(tmp_path / f"clip-{place}.wav", (place, place))
    assert cache.get("clip-0") == clip  # used now: the next to go is clip-1
    for place in range(9, 12):
        cache.put(f"clip-{place}", clip)
    kept = {path.stem for path in tmp_path.iterdir()}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10 * len(clip)
    assert {"clip-0", "clip-11"} <= kept
    assert "clip-1" not in kept


def test_a_full_disk_costs_the_keeping_not_the_clip(tmp_path, voice, capsys, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    async def play():
        clips = Clips(voice, ClipCache(tmp_path))
        got = [await clips.get("hello"), await clips.get("there")]
        clips.close()
        return got

    assert all(is_clip(clip) for clip in asyncio.run(play()))
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err.count("No space left") == 1


def test_a_real_speech_game(serve, join, espeak, isolated_home):
    client = join(serve(synthesiser=espeak))
    game = client.start(2, "speech")
    assert seconds(game.question_audio()) > 1
    clips = [game.next_option_audio() for _ in range(4)]
    assert all(seconds(clip) > 0.8 for clip in clips)
    assert len(set(clips)) == 4
    assert game.option_audio(0) == clips[0]
    assert len(list((isolated_home / "speech").glob("*.wav"))) == 5
    assert game.answer(0)["correct"] in (True, False)
