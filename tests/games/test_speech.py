import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.games.audio import read_clip
from harness.games.errors import QuizProtocolError, QuizRefusedError, QuizUnreachableError


def test_the_clock_starts_with_the_last_option(play, clock):
    async def scene(server, client):
        game = await client.start(3, "speech")
        assert game.state.question.text is None
        clock.advance(500)
        question = await game.question_audio()
        left, lengths = [game.remaining_s()], []
        for _ in range(4):
            lengths.append((await game.next_option_audio()).seconds)
            left.append(game.remaining_s())
        assert game.state.question_deadline is None
        clock.advance(5)
        before = game.remaining_s()
        await game.refresh()
        assert game.state.question_deadline is not None
        after = game.remaining_s()
        outcome = await game.answer(1)
        return question, left, lengths, before, after, outcome, game.remaining_s()

    question, left, lengths, before, after, outcome, next_left = play(scene)
    assert (question.sample_rate_hz, question.channels, question.note) == (24_000, 1, "")
    assert left == [None, None, None, None, 30.0]
    assert lengths == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert before == 25.0
    assert 22.9 <= after <= 25.0
    assert outcome.result.correct is True
    assert next_left is None


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("kind", ["drop", "hang", "500"])
def test_a_lost_option_is_not_skipped(play, faults, kind, after):
    async def scene(server, client):
        game = await client.start(3, "speech")
        trouble = {
            "drop": faults.drop(after=after),
            "hang": faults.hang(after=after),
            "500": faults.say(500, after=after),
        }
        server.faults["audio/option/next"] = [None, trouble[kind]]
        lengths = [(await game.next_option_audio()).seconds for _ in range(4)]
        return lengths, server.games[41].clips, len(server.asked("audio/option/next"))

    lengths, clips, asked = play(scene, timeout_s=0.25 if kind == "hang" else 10.0)
    assert lengths == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert clips == 4
    assert asked == (4 if after else 5)


def test_a_last_option_that_was_lost_is_timed_from_when_it_was_asked_for(play, faults, clock):
    async def scene(server, client):
        game = await client.start(3, "speech")
        server.faults["audio/option/next"] = [
            None,
            None,
            None,
            faults.hang(after=True, clock=clock, seconds=6),
        ]
        for _ in range(4):
            await game.next_option_audio()
        return game.remaining_s()

    assert play(scene, timeout_s=0.25) <= 24


@pytest.mark.parametrize("after", [True, False])
def test_after_a_failure_the_count_is_asked_for(play, faults, clock, after):
    async def scene(server, client):
        game = await client.start(3, "speech")
        lengths = [(await game.next_option_audio()).seconds for _ in range(3)]
        server.faults["audio/option/next"] = [faults.drop(after=after)]
        server.faults["audio/option/3"] = [faults.drop() for _ in range(6)]
        with pytest.raises(QuizUnreachableError):
            await game.next_option_audio()
        assert game.remaining_s() < 30  # the last option may have been delivered
        if after:
            assert await game.delivered_options() == 4
        else:
            lengths.append((await game.next_option_audio()).seconds)
        return lengths, server.games[41].clips

    lengths, clips = play(scene)
    assert lengths == pytest.approx([0.1, 0.2, 0.3, 0.4][: len(lengths)])
    assert clips == 4


def test_a_fifth_option_is_refused(play):
    async def scene(server, client):
        game = await client.start(3, "speech")
        for _ in range(4):
            await game.next_option_audio()
        with pytest.raises(QuizRefusedError, match="All options have been delivered"):
            await game.next_option_audio()

    play(scene)


def test_an_option_can_be_heard_again_but_not_beforehand(play):
    async def scene(server, client):
        game = await client.start(3, "speech")
        first = await game.next_option_audio()
        assert (await game.option_audio(0)).data == first.data
        for place in (1, 7):
            with pytest.raises(QuizRefusedError, match="Not delivered"):
                await game.option_audio(place)

    play(scene)


def test_a_resumed_game_asks_how_far_it_had_got(play):
    async def scene(server, client):
        game = await client.start(3, "speech")
        for _ in range(2):
            await game.next_option_audio()
        resumed = await client.resume(41)
        assert await resumed.delivered_options() == 2
        lengths = [(await resumed.next_option_audio()).seconds for _ in range(2)]
        assert await resumed.delivered_options() == 4
        return lengths

    assert play(scene) == pytest.approx([0.3, 0.4])


def test_a_login_that_ends_between_two_options(play):
    async def scene(server, client):
        game = await client.start(3, "speech")
        await game.next_option_audio()
        server.cookies.clear()
        return (await game.next_option_audio()).seconds

    assert play(scene) == pytest.approx(0.2)


def test_audio_in_a_text_game_is_refused(play):
    async def scene(server, client):
        game = await client.start(3)
        for call in (game.question_audio, game.next_option_audio, lambda: game.option_audio(0)):
            with pytest.raises(QuizRefusedError, match="text game"):
                await call()

    play(scene)


def test_a_clip_that_is_none(play, faults):
    async def scene(server, client):
        game = await client.start(3, "speech")
        for body in (b"<html>", b"", b" " * 17_000_000):
            server.faults["audio/question"] = [faults.say(200, body)]
            with pytest.raises(QuizProtocolError, match=r"no WAV file|more than 16 MB"):
                await game.question_audio()

    play(scene)


def test_other_sample_rates_are_taken_and_told(make_wav):
    clip = read_clip(make_wav(1.0, rate=16_000, channels=2))
    assert (clip.sample_rate_hz, clip.channels, clip.sample_bits) == (16_000, 2, 16)
    assert clip.seconds == pytest.approx(1.0)
    assert clip.note == "16000 Hz, 2 channels, 16 bits"


def test_a_streamed_file_does_not_know_its_length(streamed_wav):
    assert read_clip(streamed_wav).seconds == pytest.approx(0.5)


def test_a_clip_that_was_cut_is_as_long_as_what_is_there(make_wav):
    data = make_wav(1.0)
    assert read_clip(data[: len(data) // 2]).seconds == pytest.approx(0.5, abs=0.01)


def test_a_clip_does_not_print_its_bytes(make_wav):
    assert len(repr(read_clip(make_wav()))) < 200


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, b"RIFX", "no WAV file"),
        (8, b"AVI ", "no WAV file"),
        (20, b"\x55\0", "something else than plain samples"),
        (22, b"\0\0", "makes no sense"),
        (24, b"\0\0\0\0", "makes no sense"),
        (34, b"\x07\0", "makes no sense"),
        (36, b"LIST", "without samples"),
        (12, b"xxxx", "without samples"),
    ],
)
def test_headers_that_are_wrong(make_wav, place, value, words):
    data = bytearray(make_wav())
    data[place : place + len(value)] = value
    with pytest.raises(QuizProtocolError, match=words):
        read_clip(bytes(data))


@given(st.binary(max_size=200), st.integers(0, 60), st.binary(max_size=30))
def test_any_bytes_are_a_clip_or_one_sentence(noise, place, patch):
    header = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\xc0\x5d\0\0\x80\xbb\0\0\x02\0\x10\0data"
    for data in (noise, header + noise, header[:place] + patch + header[place + len(patch) :]):
        try:
            seconds = read_clip(data).seconds
        except QuizProtocolError:
            continue
        assert seconds >= 0


def test_cancelling_a_call_leaves_the_client_usable(play, faults):
    async def scene(server, client):
        game = await client.start(3, "speech")
        server.faults["audio/question"] = [faults.hang()]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(game.question_audio(), 0.05)
        return (await game.question_audio()).seconds

    assert play(scene) == pytest.approx(0.2)
