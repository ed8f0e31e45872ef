"""The groups of settings: every parameter, its type, bounds, default and meaning."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "EngineSettings",
    "FetchSettings",
    "Group",
    "PlaySettings",
    "PromptSettings",
    "RetrievalSettings",
    "SearchSettings",
    "TimeSettings",
]


class Group(BaseModel):
    """A frozen group in which an unknown name is an error."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False
    )


class SearchSettings(Group):
    """How the web is searched."""

    enabled: bool = Field(True, description="Research at all; off is 'model alone'.")
    url: str = Field("http://127.0.0.1:8080", description="Address of the SearXNG server.")
    language: str = Field("en-US", description="Locale sent with each search.")
    results: int = Field(10, ge=1, le=50, description="Hits kept after merging.")
    timeout_s: float = Field(6.0, gt=0, le=600, description="Seconds allowed per search, in all.")
    trusted: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Trusted domains per category, in place of the built-in list.",
    )
    blocked: tuple[str, ...] = Field((), description="Domains dropped besides the built-in ones.")


class FetchSettings(Group):
    """How pages are fetched and turned into text."""

    pages: int = Field(6, ge=0, le=20, description="Pages read per question.")
    timeout_s: float = Field(6.0, gt=0, le=600, description="Seconds allowed per page, in all.")
    max_bytes: int = Field(
        3_000_000,
        ge=1_000,
        le=64 * 2**20,
        description="Bytes read of a page; the rest is cut off.",
    )
    max_redirects: int = Field(5, ge=0, le=20, description="Redirects followed per page.")
    extract_timeout_s: float = Field(
        20.0, gt=0, le=600, description="Seconds after which a text extraction is killed."
    )
    keep_chars: int = Field(
        12_000, ge=200, le=1_000_000, description="Characters kept of a page's text."
    )
    allow_hosts: tuple[str, ...] = Field(
        (), description="Hosts that may be fetched although their address is private."
    )


class RetrievalSettings(Group):
    """How passages are cut, ranked and chosen."""

    encoder: str = Field("minilm-l6-v2-int8", description="Bi-encoder, by registry name or folder.")
    chunker: Literal["sentences", "characters"] = Field(
        "sentences", description="Whole sentences up to the size, or plain windows."
    )
    chunk_chars: int = Field(350, ge=50, le=8_000, description="Characters per passage.")
    chunk_overlap: int = Field(
        100,
        ge=0,
        le=4_000,
        description="Characters that neighbours may share, at most half a passage.",
    )
    titles: bool = Field(
        True, description="Read a page's title with each of its passages when ranking."
    )
    prefilter: int = Field(
        48,
        ge=0,
        le=100_000,
        description="Passages encoded at most, besides each page's first: the best by BM25; "
        "0 encodes all.",
    )
    first_stage: Literal["fused", "vectors"] = Field(
        "fused", description="What chooses the passages to rerank: vectors and BM25, or vectors."
    )
    keep: int = Field(40, ge=1, le=10_000, description="Passages kept for the reranker.")
    reranker: str = Field(
        "auto",
        description="Second-stage ranking: auto, maxsim, none, or a model by name or path.",
    )
    reranker_query: Literal["question", "joined"] = Field(
        "question",
        description="What a reranker model is asked: the question, or it and the options in one.",
    )
    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Where encoder and reranker compute; cuda needs the extra 'torch'."
    )
    threshold: float = Field(
        0.8, ge=0, le=1, description="Share of the way from noise to the best score to be kept."
    )
    floor: dict[str, float] = Field(
        default_factory=dict,
        description="Lowest best score worth reading at all, by the name of the score's scale; "
        "a scale not named keeps its own.",
    )
    lexical_weight: float = Field(
        0.5,
        ge=0,
        le=10,
        description="Weight of the BM25 rank in the final order; the reranker's weighs 1.",
    )
    lead_weight: float = Field(
        0.0,
        ge=0,
        le=10,
        description="Weight of being a page's first passage in the final order.",
    )
    encoder_threads: int = Field(
        1, ge=1, le=256, description="Compute threads of the encoder and the reranker."
    )
    repeated: float = Field(
        0.85,
        gt=0,
        le=1,
        description="Share of a passage's letters in a better one from which it is dropped.",
    )
    per_source: int = Field(
        0, ge=0, le=100, description="Passages of one page in the prompt at most; 0 is no limit."
    )
    max_passages: int = Field(6, ge=1, le=100, description="Passages put into the prompt at most.")
    context_tokens: int = Field(
        450, ge=0, le=32_768, description="Tokens of context in the prompt."
    )


class EngineSettings(Group):
    """Which language model answers, and how."""

    name: Literal["xllamacpp", "openai", "exllamav2", "ctransformers"] = Field(
        "xllamacpp", description="Engine: in-process llama.cpp, any OpenAI-compatible server, …"
    )
    model: str = Field(
        "qwen2.5-coder-1.5b-instruct-q4_k_m",
        description="Model: a registry name, or the path of a file or folder; of a server its "
        "id there, or auto.",
    )
    context_window: int = Field(
        2_048, ge=256, le=131_072, description="Tokens of context per slot."
    )
    threads: int = Field(
        0,
        ge=0,
        le=256,
        description="Compute threads; 0 takes all cores up to 4, and half of more.",
    )
    gpu_layers: int = Field(0, ge=-1, description="Layers on the GPU; -1 takes all.")
    max_tokens: int = Field(200, ge=1, le=8_192, description="Tokens generated at most.")
    prefix: Literal["fixed", "none"] = Field(
        "fixed",
        description="Evaluate the prompt's fixed part once and reuse exactly that, or never.",
    )
    server: str = Field(
        "http://127.0.0.1:8081/v1",
        description="Base address of the OpenAI-compatible server (engine openai).",
    )
    server_api: Literal["chat", "completion"] = Field(
        "chat", description="Which of the server's two interfaces is used (engine openai)."
    )
    server_timeout_s: float = Field(
        60.0, gt=0, le=3_600, description="Seconds allowed per request (engine openai)."
    )
    server_retries: int = Field(
        2, ge=0, le=10, description="Further tries after a failed request (engine openai)."
    )
    server_concurrency: int = Field(
        1,
        ge=1,
        le=256,
        description="Requests under way at the server at once (engine openai); more than one "
        "can change results.",
    )
    server_template: str = Field(
        "",
        description="GGUF file or Jinja file whose chat template the completion interface uses "
        "where the server does not tell its own (engine openai).",
    )
    check_memory: bool = Field(
        True,
        description="Refuse a model that needs more memory than is free (engines xllamacpp and "
        "ctransformers).",
    )
    cache_type: Literal["fp16", "q8", "q6", "q4"] = Field(
        "fp16", description="Precision of the attention cache (engine exllamav2)."
    )


class PromptSettings(Group):
    """How the model is asked."""

    style: Literal["contract"] = Field("contract", description="Prompt family.")


class TimeSettings(Group):
    """What a question may take."""

    allowed_s: float = Field(30.0, gt=0, description="Seconds the quiz server allows.")
    budget_s: float = Field(25.0, gt=0, description="Seconds we allow ourselves.")


class PlaySettings(Group):
    """How live games are played."""

    reserve_s: float = Field(
        2.0, ge=0, le=30, description="Seconds before the server's deadline when an answer leaves."
    )
    patience_s: float = Field(
        20.0,
        ge=0,
        le=600,
        description="Seconds that research may take before a spoken question's last option is "
        "asked for.",
    )
    pause_s: float = Field(0.5, ge=0, le=3_600, description="Seconds between two games.")
