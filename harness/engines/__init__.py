"""Language models behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.engines.protocol import Chat, Engine, EngineInfo, Generation, Message

if TYPE_CHECKING:
    from pathlib import Path

    from harness.settings import EngineSettings

__all__ = [
    "Chat",
    "Engine",
    "EngineInfo",
    "Generation",
    "Message",
    "check_model",
    "load_engine",
    "model_parts",
]


def load_engine(settings: EngineSettings, path: Path | None, *, name: str, sha256: str) -> Engine:
    """Load the weights at ``path`` with the engine that ``settings`` name.

    A server has its own weights: for the engine ``openai`` all three are
    ignored.  Raises :class:`~harness.errors.EngineError` when the weights
    can't be loaded, or the server can't be used.
    """
    if settings.name == "openai":
        from harness.engines.openai import OpenAIEngine

        return OpenAIEngine(
            settings.server,
            model=settings.model,
            api=settings.server_api,
            context_window=settings.context_window,
            prefix=settings.prefix,
            template=settings.server_template,
            timeout_s=settings.server_timeout_s,
            retries=settings.server_retries,
            concurrency=settings.server_concurrency,
        )
    if path is None:
        raise ValueError(f"the engine {settings.name} needs the path of its weights")
    if settings.name == "exllamav2":
        from harness.engines.exllamav2 import ExLlamaV2Engine

        return ExLlamaV2Engine(
            path,
            model=name,
            model_sha256=sha256,
            context_window=settings.context_window,
            cache_type=settings.cache_type,
        )
    if settings.name == "ctransformers":
        from harness.engines.ctransformers import CTransformersEngine

        return CTransformersEngine(
            path,
            model=name,
            model_sha256=sha256,
            context_window=settings.context_window,
            threads=settings.threads,
            check_memory=settings.check_memory,
        )
    from harness.engines.xllamacpp import LlamaCppEngine

    return LlamaCppEngine(
        path,
        model=name,
        model_sha256=sha256,
        context_window=settings.context_window,
        threads=settings.threads,
        gpu_layers=settings.gpu_layers,
        prefix=settings.prefix,
        check_memory=settings.check_memory,
    )


def check_model(settings: EngineSettings, path: Path) -> None:
    """Refuse a model file or folder that can't be loaded, reading no more than headers.

    Raises like :func:`load_engine`.
    """
    window = settings.context_window
    if settings.name == "exllamav2":
        from harness.engines._exl2_folder import inspect_folder

        inspect_folder(path, context_window=window)
    elif settings.name == "ctransformers":
        from harness.engines._old_llama import inspect_file

        inspect_file(path, context_window=window)
    elif settings.name == "xllamacpp":
        from harness.engines.xllamacpp import inspect_model, slots_for

        inspect_model(
            path,
            context_window=window,
            slots=slots_for(settings.prefix),
            gpu_layers=settings.gpu_layers,
            check_memory=settings.check_memory,
        )


def model_parts(path: Path) -> tuple[Path, ...]:
    """Return the files of the GGUF model at ``path``: all parts of a split one, in order.

    Raises :class:`~harness.errors.ModelMissingError` that names a missing part.
    """
    from harness.engines._gguf_check import gguf_parts

    return gguf_parts(path)
