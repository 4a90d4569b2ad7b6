"""Every limit of the app, each one constant.

What people type may be any text of any length; these bounds keep one page from taking the whole machine.
A message about a limit names the constant's value and what to shorten.
"""

import os

from viz_core.language import translate as _

MAX_SENTENCES = 32
"""Sentences in one batch. Attention costs grow with the batch, and a list of more rows no longer fits a screen."""

MAX_TOKENS = 1024
"""Tokens in one sentence, `<bos>` and `<eos>` included. One head's weights are tokens x tokens: 4 MiB in float32 here.
It is also the longest context of the published checkpoints with learned positions that fit `MAX_PARAMETERS`."""

MAX_WRITTEN = 64
"""Tokens that a model writes for one sentence before it is cut off. The longest translation of the training has about 20,
and a model whose settings were changed since may never come to an end."""

MAX_CAPTURE_BYTES = 512 * 2**20
"""Bytes recorded in one run (512 MiB, which is 536.9 MB): what a server keeps of all runs has to hold it, with its model."""

CACHE_MB = "ATTENTION_LAB_CACHE_MB"
"""The environment variable that says how many MB (10⁶ bytes) of models, runs and results a server keeps, all together."""

DEFAULT_CACHE_MB = 530
"""MB kept where nothing is set. One model of `MAX_PARAMETERS` fits, with a short run."""

LEAST_CACHE_MB = 64
"""The least that may be set: the translator that a newcomer sees needs some room."""


def cache_bytes() -> int:
    """Bytes of models, runs and results that this server keeps; the default where the setting is none (`cache_problem`)."""
    said = os.environ.get(CACHE_MB, "").strip()
    return (int(said) if said and not cache_problem() else DEFAULT_CACHE_MB) * 10**6


def cache_problem() -> str | None:
    """What is wrong with the setting, in one sentence; None where nothing is."""
    said = os.environ.get(CACHE_MB, "").strip()
    if not said or (said.isascii() and said.isdigit() and len(said) < 10 and int(said) >= LEAST_CACHE_MB):
        return None
    return _("{cache_mb} is {said!r}; give a whole number of MB from {least_cache_mb}. Until then it is {default_cache_mb}.",
             cache_mb=CACHE_MB, said=said[:40], least_cache_mb=LEAST_CACHE_MB, default_cache_mb=DEFAULT_CACHE_MB)


MAX_PARAMETERS = 130_000_000
"""Parameters in one model: 520 MB in float32. Leaves room for GPT-2 small (124 million) and the base models of
both papers, and nothing that would make a laptop swap."""

MAX_LINK_BYTES = 8192
"""Bytes in a link (8 KiB). Common web servers and proxies refuse a longer request line, so a longer setup stays
in the session."""

MAX_LABEL = 24
"""Characters of a token's label on an axis before it is shortened with "…". Longer labels leave no room for the
matrix they belong to."""

MAX_VIEW_CHARS = 200
"""Characters of a text that a page keeps as its selection, such as a filter."""

MAX_KEPT_CHARS = 2**20
"""Characters of a whole setup that a page keeps beside the present one. A run kept to compare with may hold as long a
text as any; a link that it does not fit leaves it out."""


def megabytes(n_bytes: int, digits: int = 1) -> str:
    """1234567 -> '1.2 MB', wherever a size in bytes is told: a megabyte (MB) is 10^6 bytes, a mebibyte (MiB) 2^20."""
    return f"{n_bytes / 1e6:,.{digits}f} MB"
