"""The forms in which providers are given to a session."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

Provider = str | tuple[str, dict[Any, Any]]


def _options(options: Any) -> dict[str, str]:
    if not isinstance(options, dict):
        raise ValueError(f"provider options are a dict, got {type(options).__name__}")
    return {str(key): str(value) for key, value in options.items()}


def _pair(provider: Any) -> tuple[str, dict[str, str]]:
    if isinstance(provider, str):
        return provider, {}
    if isinstance(provider, tuple) and len(provider) == 2 and isinstance(provider[0], str):
        return provider[0], _options(provider[1])
    raise ValueError(
        f"providers are names or pairs of a name and a dict of options, got {provider!r}"
    )


def _beside(providers: Sequence[Any], options: Any) -> list[tuple[str, dict[str, str]]]:
    if not isinstance(options, Sequence) or isinstance(options, str):
        raise ValueError(f"provider_options is a list of dicts, got {type(options).__name__}")
    if len(providers) != len(options):
        raise ValueError(
            "providers and provider_options must have the same length, got "
            f"{len(providers)} and {len(options)}"
        )
    if not all(isinstance(provider, str) for provider in providers):
        raise ValueError("beside provider_options, providers are names only")
    return [(name, _options(entry)) for name, entry in zip(providers, options)]


def normalize(
    providers: Sequence[Provider] | None, provider_options: Sequence[dict[Any, Any]] | None
) -> list[tuple[str, dict[str, str]]]:
    """Names with their options, each name once; a repeated one warns. ValueError for other forms."""
    if providers is None:
        if provider_options:
            raise ValueError("provider_options without providers")
        return []
    if not isinstance(providers, Sequence) or isinstance(providers, str):
        raise ValueError(f"providers is a list, got {type(providers).__name__}")
    pairs = (
        _beside(providers, provider_options)
        if provider_options
        else [_pair(provider) for provider in providers]
    )
    unique: dict[str, dict[str, str]] = {}
    for name, options in pairs:
        if name in unique:
            warnings.warn(f"provider '{name}' is given twice; the second is ignored", stacklevel=3)
        else:
            unique[name] = options
    return list(unique.items())


def check_and_normalize_provider_args(
    providers: Sequence[Provider] | None,
    provider_options: Sequence[dict[Any, Any]] | None,
    available_provider_names: Sequence[str],
) -> tuple[list[str], list[dict[str, str]]]:
    """Names and options as two lists; a name that is not available warns and is kept."""
    pairs = normalize(providers, provider_options)
    for name, _ in pairs:
        if name not in available_provider_names:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names."
                f"Available providers: '{', '.join(available_provider_names)}'",
                stacklevel=2,
            )
    return [name for name, _ in pairs], [options for _, options in pairs]
