"""What both ONNX models share: opening a session that gives the same result every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import EngineError
from harness.retrieval._folder import first_line
from harness.retrieval._tokens import Tokenised, largest_id, refuse_mismatch

__all__ = ["check_vocabulary", "load_session", "run", "version"]


def load_session(path: Path, threads: int) -> Any:
    """Open an ONNX model on the CPU.

    Raises :class:`~harness.errors.EngineError` for a file that can't be used.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 4  # what goes wrong is raised, not printed
    # Threads that spin while idle would take the cores from the language model.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - a class per cause, without a public base
        raise EngineError(
            f"{path} is not a model that onnxruntime can load: {first_line(error)}.",
            remedy="Verify pulled models with 'hotseat models verify', or fetch your own again.",
        ) from None


def run(session: Any, output: str, tokens: Tokenised, inputs: list[str], what: str) -> Any:
    """Return one output of a model for one text or pair, without the batch dimension."""
    try:
        return session.run([output], tokens.feed(inputs))[0][0]
    except Exception as error:  # noqa: BLE001 - a class per cause, without a public base
        raise EngineError(f"The {what} failed: {first_line(error)}.") from None


def check_vocabulary(
    session: Any, output: str, inputs: list[str], tokenizer: Any, what: str
) -> None:
    """Raise :class:`~harness.errors.EngineError` if the model can't read the tokenizer's ids.

    The graph doesn't tell how many embeddings it holds, so the largest id is
    looked up once; onnxruntime refuses one that is out of bounds.
    """
    ids = np.array([[largest_id(tokenizer)]], dtype=np.int64)
    probe = Tokenised(ids, np.zeros_like(ids), np.ones_like(ids), np.array([True]))
    try:
        session.run([output], probe.feed(inputs))
    except Exception as error:  # noqa: BLE001 - a class per cause, without a public base
        if "bounds" not in str(error):
            raise EngineError(f"The {what} failed: {first_line(error)}.") from None
        refuse_mismatch(what, tokenizer, None)


def version() -> str:
    """Return the version of onnxruntime."""
    import onnxruntime

    return str(onnxruntime.__version__)
