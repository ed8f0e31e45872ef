"""llama.cpp as a library in this process: what every use of it sets, starts and says alike."""

from __future__ import annotations

import os
import secrets
from importlib import metadata
from pathlib import Path
from typing import Any

from harness.engines._gguf_check import is_known
from harness.errors import EngineError

__all__ = ["new_params", "start"]


def new_params(path: Path, threads: int) -> Any:
    """Return parameters for the model at ``path`` on the CPU, for the caller to complete."""
    # Read by OpenMP when the library is loaded.  Threads that wait for each
    # other spin for some microseconds and then sleep.  Spinning for ever is no
    # faster, and makes a second busy process on the same cores slow this one
    # several times over; sleeping at once costs a fifth of the speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.fit_params = False  # no silent shrinking to the free memory
    params.cache_ram_mib = 0  # no cache of whole prompts beside the slots
    params.warmup = False
    params.ui = False
    params.verbosity = -1
    # The library opens a loopback port of its own; nobody else gets to use it.
    params.hostnames = ["127.0.0.1"]
    params.api_keys = [secrets.token_hex(32)]
    return params


def start(params: Any, path: Path, family: str) -> Any:
    """Load the model and return the library's server.

    ``family`` is the architecture in the file's header.  Raises
    :class:`~harness.errors.EngineError` when llama.cpp can't load it.
    """
    import xllamacpp

    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        if is_known(family) is False:
            raise EngineError(
                f"{path} holds a model of the architecture '{family}', which this llama.cpp "
                f"(xllamacpp {metadata.version('xllamacpp')}) does not know.",
                remedy="Update it with 'pip install -U xllamacpp', or name another model.",
            ) from None
        raise EngineError(
            f"llama.cpp can't load {path}: {str(error).strip() or 'no reason given'}.",
            remedy="Check the file with 'hotseat models verify', or name another model.",
        ) from None
