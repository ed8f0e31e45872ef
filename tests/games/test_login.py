import copy
import io
import pickle
import sys

import pytest

from harness.errors import BadInputError, MissingError
from harness.games.login import PASSWORD_VARIABLE, USER_VARIABLE, Credentials, find_credentials
from harness.settings import resolve

SECRET = "correct horse"


def nobody(prompt):
    raise AssertionError("nobody should be asked")


def test_from_the_environment(monkeypatch):
    monkeypatch.setenv(USER_VARIABLE, "ada")
    monkeypatch.setenv(PASSWORD_VARIABLE, SECRET)
    found = find_credentials(ask=nobody, ask_secret=nobody)
    assert (found.username, found.reveal()) == ("ada", SECRET)
    resolve()  # they are no unknown settings


def test_a_person_is_asked_for_what_is_missing():
    prompts = []

    def answer(prompt):
        prompts.append(prompt)
        return "ada" if "user" in prompt else SECRET

    found = find_credentials({}, ask=answer, ask_secret=answer, interactive=True)
    assert (found.username, found.reveal()) == ("ada", SECRET)
    assert prompts == ["Quiz user: ", "Password of ada: "]
    prompts.clear()
    find_credentials({USER_VARIABLE: "eve"}, ask=answer, ask_secret=answer, interactive=True)
    assert prompts == ["Password of eve: "]


def test_the_name_is_asked_for_on_stderr(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("ada\r\n"))
    found = find_credentials({}, ask_secret=lambda prompt: SECRET, interactive=True)
    assert found.username == "ada"
    out, err = capsys.readouterr()
    assert (out, err) == ("", "Quiz user: ")


@pytest.mark.parametrize(
    ("env", "named"), [({}, USER_VARIABLE), ({USER_VARIABLE: "ada"}, PASSWORD_VARIABLE)]
)
def test_without_a_person_it_says_what_to_set(monkeypatch, env, named):
    monkeypatch.setattr(sys, "stdin", io.StringIO("ada\nsecret\n"))
    with pytest.raises(MissingError, match=f"{named} is not set") as caught:
        find_credentials(env, ask=nobody, ask_secret=nobody)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("password", ["", "\ud800", "x" * 1001])
def test_what_can_not_be_a_password(password):
    with pytest.raises(BadInputError, match="can't be used"):
        Credentials("ada", password)


def test_the_password_shows_nowhere():
    credentials = Credentials("ada", SECRET)
    shown = [repr(credentials), str(credentials), f"{credentials}", repr([credentials])]
    shown += [repr(getattr(credentials, name)) for name in Credentials.__slots__]
    assert not any(SECRET in text for text in shown)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never written down"):
            copied(credentials)
