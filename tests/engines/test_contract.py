"""Every engine keeps the same contract; those that need more than this machine run elsewhere.

``exllamav2`` and ``ctransformers`` join in their own files, through the same
fixture ``check_contract``.
"""

from __future__ import annotations

import pytest

from harness.engines import load_engine
from harness.settings import EngineSettings

pytestmark = pytest.mark.models

MODEL = "smollm2-135m-instruct-q4_1"


@pytest.mark.parametrize("prefix", ["fixed", "none"])
def test_xllamacpp(check_contract, smol_path, prefix):
    settings = EngineSettings(model=str(smol_path), threads=1, prefix=prefix)
    check_contract(load_engine(settings, smol_path, name=MODEL, sha256="0" * 64))


@pytest.mark.parametrize("prefix", ["fixed", "none"])
@pytest.mark.parametrize("api", ["chat", "completion"])
def test_openai(check_contract, llama_address, server_key, api, prefix):
    settings = EngineSettings(
        name="openai", model="smol", server=llama_address, server_api=api, prefix=prefix
    )
    check_contract(load_engine(settings, None, name="", sha256=""))
