"""Looking into a model folder before ExLlamaV2 does: plain files, no GPU, no torch.

A folder has ``config.json``, one or more ``*.safetensors`` and
``tokenizer.json``, as model hubs serve them.  Nothing of it is executed: the
chat template runs in a sandbox, and code that a folder brings is ignored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.engines._bounded import Bounded, Cut
from harness.engines._window import check_trained
from harness.errors import EngineError

__all__ = ["ModelFolder", "cache_bytes", "inspect_folder"]

_MAX_JSON_BYTES = 16 << 20
_MAX_HEADER_BYTES = 64 << 20
_USE_LLAMA_CPP = "Use --set engine.name=xllamacpp with a GGUF file."
# Of a setting of engine.cache_type: bits of a key and a value, scales included.
_CACHE_BITS = {"fp16": 32.0, "q8": 17.0, "q6": 13.0, "q4": 9.0}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What the engine has to know of a folder that was found whole.

    ``quantisation`` is ``exl2``, ``gptq`` or ``none``; ``bits`` per weight, 16
    where nothing is quantised.  ``ends`` are the tokens that end an answer, by
    number where the folder gives that and by text otherwise.
    """

    path: Path
    quantisation: str
    bits: float
    layers: int
    cache_width: int
    vocabulary: int
    trained_window: int
    weights_bytes: int
    template: str | None
    bos: str
    eos: str
    ends: tuple[int | str, ...]

    @property
    def tokenizer(self) -> Path:
        """Path of the tokenizer's file."""
        return self.path / "tokenizer.json"


def inspect_folder(path: Path, *, context_window: int = 0) -> ModelFolder:
    """Return what a model folder holds.

    Raises :class:`~harness.errors.EngineError` for a folder that is not whole,
    not of a kind that ExLlamaV2 reads, or of a model that was not trained for
    ``context_window`` tokens.
    """
    if not path.is_dir():
        raise EngineError(
            f"{path} is not a folder, and the exllamav2 engine reads a folder with config.json "
            "and *.safetensors.",
            remedy=_USE_LLAMA_CPP,
        )
    config = _json(path / "config.json", needed=True)
    _check_family(path, config)
    quantisation, bits = _quantisation(path, config)
    if not (path / "tokenizer.json").is_file():
        raise EngineError(
            f"The model folder {path} has no tokenizer.json.", remedy="Fetch it again, whole."
        )
    words = _json(path / "tokenizer_config.json")
    generation = _json(path / "generation_config.json")
    heads = _number(path, config, "num_attention_heads")
    head_width = config.get("head_dim") or _number(path, config, "hidden_size") // heads
    shared = config.get("num_key_value_heads") or heads
    if not isinstance(shared, int) or not isinstance(head_width, int):
        raise _nonsense(path)
    eos = _word(words.get("eos_token"))
    trained = _number(path, config, "max_position_embeddings", 0)
    check_trained(path.name, trained, context_window)
    return ModelFolder(
        path=path,
        quantisation=quantisation,
        bits=bits,
        layers=_number(path, config, "num_hidden_layers"),
        cache_width=shared * head_width,
        vocabulary=_number(path, config, "vocab_size"),
        trained_window=trained,
        weights_bytes=_weights_bytes(path),
        template=_template(path, words),
        bos=_word(words.get("bos_token")),
        eos=eos,
        ends=_ends(config, generation, eos),
    )


def cache_bytes(folder: ModelFolder, *, window: int, cache_type: str) -> int:
    """Return the size of the attention cache for ``window`` tokens."""
    values = folder.layers * folder.cache_width * window
    return int(values * _CACHE_BITS[cache_type] / 8)


def _check_family(path: Path, config: dict[str, Any]) -> None:
    names = config.get("architectures")
    if not isinstance(names, list) or len(names) != 1 or not str(names[0]).endswith("ForCausalLM"):
        raise EngineError(
            f"The model folder {path} does not hold a language model (architectures: "
            f"{str(names)[:80]}).",
            remedy="Name the folder of a causal language model, such as Qwen2.5-7B-Instruct.",
        )


def _quantisation(path: Path, config: dict[str, Any]) -> tuple[str, float]:
    found = config.get("quantization_config")
    if found is None:
        return "none", 16.0
    method = str(found.get("quant_method", "")) if isinstance(found, dict) else ""
    bits = found.get("bits") if isinstance(found, dict) else None
    if method == "exl2" and isinstance(bits, int | float):
        return method, float(bits)
    if method == "gptq" and bits == 4:
        return method, 4.0
    what = f"{method or 'in an unknown way'}{f' with {bits} bits' if bits else ''}"
    raise EngineError(
        f"The model in {path} is quantised {what}, and the exllamav2 engine reads EXL2, "
        "4-bit GPTQ and unquantised half precision.",
        remedy=f"Fetch an EXL2 or 4-bit GPTQ form of it. {_USE_LLAMA_CPP}",
    )


def _weights_bytes(path: Path) -> int:
    files = sorted(path.glob("*.safetensors"))
    index = _json(path / "model.safetensors.index.json")
    named = index.get("weight_map")
    wanted = {str(name) for name in named.values()} if isinstance(named, dict) else set()
    # EXL2 repositories keep the index of the model they were made from: it
    # counts only where the files that it names are the ones that are here.
    missing = sorted(wanted - {file.name for file in files})
    if not files or (missing and len(missing) < len(wanted)):
        lacking = ", ".join(missing[:3]) or "*.safetensors"
        raise EngineError(
            f"The model folder {path} has no {lacking}.",
            remedy="Fetch it again, whole.",
        )
    return sum(_check_weights(file) for file in files)


def _check_weights(file: Path) -> int:
    """Return the size of a safetensors file, which has to hold all that its header lists."""
    size = file.stat().st_size
    try:
        with file.open("rb") as stream:
            reader = Bounded(stream, size)
            length = reader.u64()
            header = json.loads(reader.take(min(length, _MAX_HEADER_BYTES)))
        rows = [row for name, row in header.items() if name != "__metadata__"]
        end = max((int(row["data_offsets"][1]) for row in rows), default=0)
    except (Cut, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise _damaged(file) from None
    if 8 + length + end != size:
        raise _damaged(file)
    return size


def _template(path: Path, words: dict[str, Any]) -> str | None:
    own = path / "chat_template.jinja"
    if own.is_file():
        return _text(own)
    found = words.get("chat_template")
    if isinstance(found, list):  # several, by name
        named = {str(t.get("name")): t.get("template") for t in found if isinstance(t, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else None


def _ends(config: dict[str, Any], generation: dict[str, Any], eos: str) -> tuple[int | str, ...]:
    found: list[int | str] = []
    for value in (generation.get("eos_token_id"), config.get("eos_token_id")):
        items = value if isinstance(value, list) else [value]
        found += [n for n in items if isinstance(n, int) and not isinstance(n, bool)]
    return tuple(dict.fromkeys([*found, *([eos] if eos else [])]))


def _word(value: Any) -> str:
    if isinstance(value, dict):  # with flags beside the text
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _number(path: Path, config: dict[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < (default is None):
        raise _nonsense(path)
    return value


def _json(path: Path, *, needed: bool = False) -> dict[str, Any]:
    if not needed and not path.is_file():
        return {}
    try:
        data = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(data, dict):
        raise _damaged(path)
    return data


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_JSON_BYTES:
            raise EngineError(f"{path} is too large to be what its name says.")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _damaged(path) from None
    except OSError as error:
        raise EngineError(
            f"Can't read {path}: {error.strerror}.",
            remedy="The exllamav2 engine needs a folder as model hubs serve it.",
        ) from None


def _damaged(path: Path) -> EngineError:
    return EngineError(f"{path} is damaged or cut short.", remedy="Fetch it again.")


def _nonsense(path: Path) -> EngineError:
    return EngineError(
        f"{path / 'config.json'} does not give the sizes of a language model.",
        remedy="Fetch the folder again, whole.",
    )
