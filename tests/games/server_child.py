"""A practice server in a process of its own that kills itself at the n-th request.

Arguments: port, database, the request's number (0: never), and whether it dies
``before`` or ``after`` it has been acted upon.
"""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import harness.games.practice.server as module
from harness.games.practice import PracticeServer, ServerOptions

spec = importlib.util.spec_from_file_location("table", Path(__file__).with_name("table.py"))
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)

port, database, number, when = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
make = module.create_app


def create_app(*values, **named):
    app, seen = make(*values, **named), 0

    async def dying(scope, receive, send):
        nonlocal seen
        seen += 1
        mine = seen == number
        if mine and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)

        async def sending(message):
            if mine:
                os.kill(os.getpid(), signal.SIGKILL)
            await send(message)

        await app(scope, receive, sending)

    return dying


module.create_app = create_app
server = PracticeServer(
    table.make_questions(2, ("history",)),
    port=port,
    database=database,
    options=ServerOptions(scrypt_cost=2, seed=3),
    synthesiser=None,
)
print("ready", flush=True)
server.run()
