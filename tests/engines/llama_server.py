"""A real llama.cpp server on loopback, over one model; a script, run by a fixture.

python llama_server.py MODEL KEY [SLOTS]: prints its address, and ends when its input does.
"""

from __future__ import annotations

import sys


def main(model: str, key: str, slots: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"smol"}
    params.n_parallel = slots
    params.n_ctx = 2_048 * slots
    params.kv_unified = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.fit_params = False
    params.ctx_shift = False
    params.cache_ram_mib = 0
    params.warmup = False
    params.ui = False
    params.verbosity = -1
    params.hostnames = ["127.0.0.1"]
    params.api_keys = [key]
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7)
