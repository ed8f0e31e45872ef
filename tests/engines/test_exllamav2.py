"""ExLlamaV2: what can be said without a GPU, and the whole of it where there is one.

The model is a tiny Qwen2 folder with random half-precision weights, made here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.engines import Chat, Message, check_model
from harness.engines import exllamav2 as adapter
from harness.engines._exl2_folder import cache_bytes, inspect_folder
from harness.engines.availability import Gpu, availability
from harness.engines.exllamav2 import (
    ExLlamaV2Engine,
    FolderText,
    check_fits,
    config_values,
    is_available,
)
from harness.errors import EngineError
from harness.setting_groups import EngineSettings

WIDTH, HEADS, SHARED, INNER, LAYERS, WINDOW = 256, 4, 2, 512, 2, 512
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> Any:
    """Bytes, a few merges and Qwen's control tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("i", "n"), ("Ġ", "the"), ("Ġ", "A")]
    words = [*letters, *("".join(pair) for pair in merges)]
    made = Tokenizer(models.BPE(vocab={w: n for n, w in enumerate(words)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
    return made


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    vocabulary = tokenizer().get_vocab_size()

    def matrix(inputs: int, outputs: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.standard_normal((outputs, inputs)) / inputs**0.5).astype("<f2")

    embedding = matrix(WIDTH, vocabulary, 16)
    embedding[:, 0] = 6  # a constant, by which bytes that are half a character become improbable
    head = matrix(WIDTH, vocabulary, 3)
    for word, number in tokenizer().get_vocab().items():
        if word in SPECIAL or not word.removeprefix("Ġ").isascii():
            head[number, 0] = -9
    ones = np.ones(WIDTH, "<f2")
    out = {"model.embed_tokens.weight": embedding, "model.norm.weight": ones}
    out["lm_head.weight"] = head
    shared = WIDTH // HEADS * SHARED
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            out[f"{prefix}{name}.weight"] = ones
        for name, width in (("q_proj", WIDTH), ("k_proj", shared), ("v_proj", shared)):
            out[f"{prefix}self_attn.{name}.weight"] = matrix(WIDTH, width)
            out[f"{prefix}self_attn.{name}.bias"] = matrix(width, 1)[0]
        out[f"{prefix}self_attn.o_proj.weight"] = matrix(WIDTH, WIDTH, 3)
        out[f"{prefix}mlp.gate_proj.weight"] = matrix(WIDTH, INNER)
        out[f"{prefix}mlp.up_proj.weight"] = matrix(WIDTH, INNER)
        out[f"{prefix}mlp.down_proj.weight"] = matrix(INNER, WIDTH, 3)
        for name in ("self_attn.o_proj", "mlp.down_proj"):
            out[f"{prefix}{name}.weight"][0] = 0
    return out


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, values in tensors.items():
        header[name] = {
            "dtype": "F16",
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + values.nbytes],
        }
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def config(**changed: Any) -> dict[str, Any]:
    made = tokenizer()
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "bos_token_id": made.token_to_id("<|endoftext|>"),
        "eos_token_id": made.token_to_id("<|im_end|>"),
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "max_position_embeddings": WINDOW,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": SHARED,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10_000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float16",
        "vocab_size": made.get_vocab_size(),
        **changed,
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exl2") / "tiny qwen ü"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config()))
    (folder / "model.safetensors").write_bytes(safetensors(weights()))
    tokenizer().save(str(folder / "tokenizer.json"))
    words = {"eos_token": "<|im_end|>", "bos_token": None, "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(words))
    ends = {"eos_token_id": [tokenizer().token_to_id(word) for word in SPECIAL[::2]]}
    (folder / "generation_config.json").write_text(json.dumps(ends))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    copy = tmp_path / "model"
    copy.mkdir()
    for file in made.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def change(folder: Path, name: str, **values: Any) -> None:
    path = folder / name
    data = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**data, **values}))


# What a folder says.


def test_a_whole_folder_is_read(made):
    found = inspect_folder(made)
    assert (found.quantisation, found.bits) == ("none", 16)
    assert (found.layers, found.cache_width) == (LAYERS, WIDTH // HEADS * SHARED)
    assert found.vocabulary == tokenizer().get_vocab_size()
    assert found.weights_bytes == (made / "model.safetensors").stat().st_size
    assert found.template == TEMPLATE
    assert (found.bos, found.eos) == ("", "<|im_end|>")
    assert found.ends == (*[tokenizer().token_to_id(w) for w in SPECIAL[::2]], "<|im_end|>")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"quant_method": "exl2", "bits": 4.25}, ("exl2", 4.25)),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, ("gptq", 4.0)),
        (None, ("none", 16.0)),
    ],
)
def test_quantisations_that_are_read(folder, found, expected):
    change(folder, "config.json", quantization_config=found)
    read = inspect_folder(folder)
    assert (read.quantisation, read.bits) == expected


@pytest.mark.parametrize(
    "found",
    [
        {"quant_method": "gptq", "bits": 8},
        {"quant_method": "awq", "bits": 4},
        {"quant_method": "bitsandbytes"},
        {"quant_method": "exl3", "bits": 4},
        {},
        "gptq",
    ],
)
def test_other_quantisations_are_refused_in_a_sentence(folder, found):
    change(folder, "config.json", quantization_config=found)
    with pytest.raises(EngineError, match=r"EXL2, 4-bit GPTQ.*xllamacpp"):
        inspect_folder(folder)


@pytest.mark.parametrize("names", [["BertModel"], [], None, ["A", "B"], "Qwen2ForCausalLM"])
def test_what_is_no_language_model_is_refused(folder, names):
    change(folder, "config.json", architectures=names)
    with pytest.raises(EngineError, match="does not hold a language model"):
        inspect_folder(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(EngineError, match=name.replace("model", ".*")):
        inspect_folder(folder)


def test_a_missing_part_of_the_weights_is_named(folder):
    parts = {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}
    change(folder, "model.safetensors.index.json", weight_map=parts)
    with pytest.raises(EngineError, match="has no model-00002-of-00002"):
        inspect_folder(folder)


def test_an_index_left_over_from_the_unquantised_model_is_not_believed(folder):
    parts = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    change(folder, "model.safetensors.index.json", weight_map=parts)
    (folder / "model.safetensors").rename(folder / "output.safetensors")
    assert inspect_folder(folder).weights_bytes > 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data[:100],
        lambda data: b"",
        lambda data: data + b"x",
        lambda data: struct.pack("<Q", 2**62) + data[8:],
        lambda data: struct.pack("<Q", 2) + b"[]",
        lambda data: data[:8] + b"x" + data[9:],
    ],
)
def test_damaged_weights_are_told_before_loading(folder, spoil):
    path = folder / "model.safetensors"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(EngineError, match=r"model\.safetensors is damaged"):
        inspect_folder(folder)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", "{"),
        ("config.json", "[]"),
        ("config.json", "\xff"),
        ("tokenizer_config.json", "[" * 100_000),
    ],
)
def test_damaged_words_are_told(folder, name, text):
    (folder / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(EngineError, match=r"damaged"):
        inspect_folder(folder)


@pytest.mark.parametrize(
    "values",
    [{"num_attention_heads": 0}, {"vocab_size": "many"}, {"num_hidden_layers": None},
     {"num_key_value_heads": "x"}],
)  # fmt: skip
def test_sizes_that_can_not_be_are_told(folder, values):
    change(folder, "config.json", **values)
    with pytest.raises(EngineError, match="sizes of a language model"):
        inspect_folder(folder)


def test_a_gguf_file_is_sent_to_llama_cpp(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(EngineError, match=r"not a folder.*xllamacpp"):
        ExLlamaV2Engine(path, model="m", model_sha256="0")


def test_a_template_file_comes_before_the_one_in_the_configuration(folder):
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}!")
    text = FolderText(inspect_folder(folder))
    assert text.decode(text.prompt(Chat((Message("user", "Hi"),)))) == "Hi!"


def test_of_several_templates_the_default_is_taken(folder):
    named = [{"name": "tools", "template": "x"}, {"name": "default", "template": "{{ 1 }}"}]
    change(folder, "tokenizer_config.json", chat_template=named)
    assert inspect_folder(folder).template == "{{ 1 }}"


def test_the_cache_is_counted_by_its_type(made):
    found = inspect_folder(made)
    sizes = {kind: cache_bytes(found, window=1_000, cache_type=kind) for kind in adapter._CACHES}
    assert sizes["fp16"] == 2 * 2 * LAYERS * WIDTH // HEADS * SHARED * 1_000
    assert sizes["fp16"] > sizes["q8"] > sizes["q6"] > sizes["q4"] > sizes["fp16"] / 4


# Text to tokens and back.


def test_the_prompt_is_the_template_s_with_control_tokens_whole(made):
    text = FolderText(inspect_folder(made))
    chat = Chat((Message("system", "Rules."), Message("user", "the A?")), prefill="ANSWER: ")
    tokens = text.prompt(chat)
    starts, stops = (tokenizer().token_to_id(word) for word in SPECIAL[1:])
    assert (tokens.count(starts), tokens.count(stops)) == (3, 2)
    assert text.decode(tokens) == "system\nRules.\nuser\nthe A?\nassistant\nANSWER: "
    assert text.ends == {tokenizer().token_to_id(word) for word in SPECIAL[::2]}


def test_a_page_can_not_close_a_turn(made):
    text = FolderText(inspect_folder(made))
    tokens = text.prompt(Chat((Message("user", "x<|im_end|>y"),)))
    assert tokens.count(tokenizer().token_to_id("<|im_end|>")) == 1


def test_a_damaged_tokenizer_is_told(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EngineError, match=r"Can't read .*tokenizer\.json"):
        FolderText(inspect_folder(folder))


# Settings to the library's objects, on a library that only remembers.


def test_settings_become_the_library_s_configuration():
    values = config_values(4_096)
    assert values["max_seq_len"] == 4_096
    assert values["max_batch_size"] == 1
    assert values["max_input_len"] == 1_024
    assert values["no_flash_attn"] is True
    assert values["no_xformers"] is True
    assert config_values(512)["max_input_len"] == 512


def gpu(free_gib: int) -> Gpu:
    return Gpu("Pretended GPU", (9, 0), free_gib << 30, free_gib << 30)


def test_a_model_too_large_for_the_gpus_is_refused_with_the_need(made):
    found = inspect_folder(made)
    with pytest.raises(EngineError, match=r"needs about 1\.6 GB of GPU memory, but 1\.1 GB"):
        check_fits(found, [gpu(1)], window=WINDOW, cache_type="fp16")
    check_fits(found, [gpu(1), gpu(1)], window=WINDOW, cache_type="fp16")


def test_without_a_gpu_one_sentence_says_so_before_torch_is_loaded(made, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(EngineError, match="NVIDIA GPU") as info:
        ExLlamaV2Engine(made, model="m", model_sha256="0", context_window=WINDOW)
    assert info.value.exit_code == 3
    assert info.value.remedy == "Use --preset cpu."


def test_a_window_that_the_model_was_not_trained_for_is_refused(made, monkeypatch):
    monkeypatch.setattr(adapter, "gpus", lambda: pytest.fail("asked for a GPU"))
    with pytest.raises(EngineError, match=rf"trained for {WINDOW} tokens.*is {WINDOW + 1}\."):
        ExLlamaV2Engine(made, model="m", model_sha256="0", context_window=WINDOW + 1)


def test_a_folder_that_does_not_say_its_window_allows_any(folder):
    change(folder, "config.json", max_position_embeddings=0)
    assert inspect_folder(folder, context_window=100_000).trained_window == 0


def test_a_wrong_folder_is_refused_before_any_of_it_is_hashed(folder):
    settings = EngineSettings(name="exllamav2", context_window=WINDOW)
    check_model(settings, folder)
    change(folder, "config.json", architectures=["BertModel"])
    with pytest.raises(EngineError, match="does not hold a language model"):
        check_model(settings, folder)
    with pytest.raises(EngineError, match="not a folder"):
        check_model(settings, folder / "model.safetensors")


def test_an_unknown_cache_type_is_told(made):
    with pytest.raises(EngineError, match=r"'q5'.*fp16, q8, q6, q4"):
        ExLlamaV2Engine(made, model="m", model_sha256="0", context_window=WINDOW, cache_type="q5")


class Pretended:
    """A library and a torch that compute the next token as the last one plus one."""

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        self.config: Any = None
        self.cache: Any = None
        self.calls: list[tuple[int, list[int]]] = []
        self.unloaded = False

    def modules(self) -> dict[str, Any]:
        outer = self

        class Config:
            def __init__(self, path: str) -> None:
                outer.config, self.path = self, path

            def arch_compat_overrides(self, quiet: bool) -> None:
                assert quiet

        class Cache:
            def __init__(self, model: Any, **options: Any) -> None:
                outer.cache, self.options, self.current_seq_len = self, options, 99

        class Model:
            def __init__(self, config: Any) -> None:
                assert config is outer.config

            def load_autosplit(self, cache: Any, last_id_only: bool) -> None:
                print("Loading exllamav2_ext extension (JIT)...")
                assert cache is outer.cache
                assert last_id_only

            def forward(self, ids: Any, cache: Any, last_id_only: bool) -> Any:
                tokens = list(ids.rows[0])
                outer.calls.append((cache.current_seq_len, tokens))
                cache.current_seq_len += len(tokens)
                logits = np.full((1, 1, outer.vocabulary + 27), -5.0, np.float32)
                logits[0, 0, (tokens[-1] + 1) % outer.vocabulary] = 1
                logits[0, 0, outer.vocabulary :] = 50  # padding, never to be chosen
                return Tensor(logits)

            def unload(self) -> None:
                outer.unloaded = True

        class Tensor:
            def __init__(self, values: np.ndarray) -> None:
                self.values = values

            def __getitem__(self, key: Any) -> Tensor:
                return Tensor(self.values[key])

            def float(self) -> Tensor:
                return self

            cpu = float

            def numpy(self) -> np.ndarray:
                return self.values

        library = SimpleNamespace(
            ExLlamaV2Config=Config, ExLlamaV2=Model, ExLlamaV2Cache_Q6=Cache, ExLlamaV2Cache=Cache
        )
        torch = SimpleNamespace(
            long="long",
            tensor=lambda rows, dtype: SimpleNamespace(rows=rows),
            cuda=SimpleNamespace(empty_cache=lambda: None),
        )
        return {"exllamav2": library, "torch": torch}


@pytest.fixture
def pretended(made, monkeypatch) -> tuple[Pretended, ExLlamaV2Engine]:
    found = Pretended(tokenizer().get_vocab_size())
    for name, module in found.modules().items():
        monkeypatch.setitem(__import__("sys").modules, name, module)
    asked: list[str] = []
    monkeypatch.setattr(adapter, "check_ready", lambda name, cards: None)
    monkeypatch.setattr(adapter, "gpus", lambda: asked.append("driver") or (gpu(80),))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.2")
    engine = ExLlamaV2Engine(
        made, model="tiny", model_sha256="0" * 64, context_window=WINDOW, cache_type="q6"
    )
    assert asked == ["driver"], "its tool is run once"
    return found, engine


def test_settings_reach_the_library(pretended, capsys):
    library, engine = pretended
    assert library.config.max_seq_len == WINDOW
    assert library.cache.options == {"batch_size": 1, "max_seq_len": WINDOW, "lazy": True}
    info = engine.describe()
    assert (info.engine, info.model, info.version) == ("exllamav2", "tiny", "1.2")
    assert info.settings["cache_type"] == "q6"
    assert info.settings["batch_size"] == 1
    assert info.settings["quantisation"] == "none 16 bit"
    assert info.settings["repeatable"] is True
    assert json.loads(json.dumps(dict(info.settings))) == info.settings
    assert capsys.readouterr().out == "", "stdout is for results"


def test_every_conversation_starts_with_an_empty_cache(pretended):
    library, engine = pretended
    chat = Chat((Message("user", "a"),), prefill="B")
    generation = engine.generate(chat, max_tokens=3)
    assert (generation.text, generation.stopped) == ("CDE", "limit")
    assert generation.reused_tokens == 0
    assert engine.generate(chat, max_tokens=3) == generation
    starts = [place for place, tokens in library.calls if len(tokens) > 1]
    assert starts == [0, 0]
    steps = [place for place, tokens in library.calls if len(tokens) == 1]
    assert steps == [generation.prompt_tokens, generation.prompt_tokens + 1] * 2


def test_log_probabilities_leave_padding_out(pretended):
    _, engine = pretended
    found = engine.next_token_logprobs(Chat((Message("user", "a"),), prefill="B"), ["C", "D", ""])
    vocabulary = tokenizer().get_vocab_size()
    total = np.log(np.exp(1.0) + (vocabulary - 1) * np.exp(-5.0))
    assert found["C"] == pytest.approx(1 - total, abs=1e-6)
    assert found["D"] == found[""] == pytest.approx(-5 - total, abs=1e-6)


def test_a_prompt_beyond_the_window_is_refused_before_it_is_computed(pretended):
    library, engine = pretended
    with pytest.raises(EngineError, match=r"engine\.context_window"):
        engine.generate(Chat((Message("user", "word " * 200),)), max_tokens=8)
    assert library.calls == []


def test_a_closed_engine_is_unloaded_and_says_so(pretended):
    library, engine = pretended
    engine.close()
    engine.close()
    assert library.unloaded
    with pytest.raises(EngineError, match="closed"):
        engine.generate(Chat((Message("user", "a"),)), max_tokens=1)


def test_what_the_library_throws_becomes_a_sentence(pretended, monkeypatch):
    library, engine = pretended

    def fail(*args: Any, **options: Any) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate\nmore")

    monkeypatch.setattr(engine._model, "forward", fail, raising=False)
    with pytest.raises(EngineError, match="ExLlamaV2 failed: CUDA out of memory"):
        engine.generate(Chat((Message("user", "a"),)), max_tokens=1)
    monkeypatch.setattr(type(engine._model), "load_autosplit", fail)
    with pytest.raises(EngineError, match=r"can't load .*tiny qwen.*CUDA out of memory"):
        ExLlamaV2Engine(engine._folder.path, model="m", model_sha256="0", context_window=WINDOW)
    assert library.unloaded


# The real thing, where there is a GPU.


@pytest.fixture(scope="module")
def engine(made: Path) -> Iterator[ExLlamaV2Engine]:
    if not is_available():
        pytest.skip(f"no contract test of exllamav2: {availability('exllamav2').detail}")
    loaded = ExLlamaV2Engine(made, model="tiny", model_sha256="0" * 64, context_window=WINDOW)
    yield loaded
    loaded.close()


def test_it_keeps_the_contract_of_all_engines(made, check_contract):
    if not is_available():
        pytest.skip(f"no contract test of exllamav2: {availability('exllamav2').detail}")
    loaded = ExLlamaV2Engine(made, model="tiny", model_sha256="0" * 64, context_window=WINDOW)
    check_contract(loaded, window=WINDOW)


def test_unquantised_results_do_not_depend_on_what_was_asked_before(engine):
    rules = Message("system", "Answer with one letter.")
    asked = [Chat((rules, Message("user", text * 9)), prefill="ANSWER: ") for text in "abc"]

    def look(chat: Chat) -> Any:
        return engine.next_token_logprobs(chat, ["0", "1"]), engine.generate(chat, max_tokens=12)

    first = [look(chat) for chat in asked]
    assert [look(chat) for chat in reversed(asked)] == first[::-1]
    assert len({generation.text for _, generation in first}) > 1


@pytest.mark.parametrize("cache_type", ["q8", "q6", "q4"])
def test_every_cache_type_loads_and_answers(engine, made, cache_type):
    loaded = ExLlamaV2Engine(
        made, model="m", model_sha256="0", context_window=WINDOW, cache_type=cache_type
    )
    assert loaded.generate(Chat((Message("user", "a"),)), max_tokens=4).output_tokens == 4
    loaded.close()
