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

MAX_REPLACED_CHARS = 600
"""Characters of a text that is offered other words for its own: about a hundred words. Each offer reads the whole text again,
and the words around tell what a word is in one sentence, not in a page of them."""

MAX_VIEW_CHARS = 200
"""Characters of a text that a page keeps as its selection, such as a filter."""

MAX_RECIPE_CHARS = 1000
"""Characters of the recipe of trained weights in a link. The longest that the app makes has about 400."""

MAX_KEPT_CHARS = 2**20
"""Characters of a whole setup that a page keeps beside the present one. A run kept to compare with may hold as long a
text as any; a link that it does not fit leaves it out."""


def megabytes(n_bytes: int, digits: int = 1) -> str:
    """1234567 -> '1.2 MB', wherever a size in bytes is told: a megabyte (MB) is 10^6 bytes, a mebibyte (MiB) 2^20."""
    return f"{n_bytes / 1e6:,.{digits}f} MB"


MAX_TRAINING_STEPS = 20_000
"""Steps of one training in the app. The tasks are learned in hundreds to thousands, at some milliseconds each."""

MAX_TRAINING_BATCH = 256
"""Rows of one training batch."""

MAX_TRAINING_LAYERS = 24
"""Layers of a side of a model that is trained in the app: one gradient norm each stays readable, and an event small."""

MAX_TRAINING_PARAMETERS = 5_000_000
"""Parameters of a model that is trained in the app. Gradients and Adam's two moments are as many numbers again, three times,
and each stored moment of the run is another copy in half precision."""

MAX_TRAINING_OPERATIONS = 10**14
"""Floating-point operations of one training: about an hour of one core."""

MAX_TRAINING_BYTES = 2**30
"""Bytes that one training may take (1 GiB): weights, gradients, Adam's moments, what a step keeps for its way back, and the
stored moments."""

MAX_SEED = 2**31 - 1
"""The largest seed of a training."""

MAX_MOMENTS = 64
"""Stored moments of one training: as many stops as a slider can tell apart."""

MAX_MOMENT_BYTES = 64 * 2**20
"""Bytes of all stored moments of one training (64 MiB): twelve of the largest model, all 64 of one of half a million parameters."""

MAX_CURVE_POINTS = 2_000
"""Points of a training's curve; more than a screen has columns. A longer run keeps every second point, every fourth, …"""

MAX_ARMS = 6
"""Arms of an experiment: as many as there are position schemes."""

MAX_FACTOR_VALUES = 4
"""Values of a factor that a visitor chooses: more curves with bands cover each other."""

MAX_SEEDS = 5
"""Seeds of each arm of an experiment."""

MAX_JOB_BYTES = 128 * 2**20
"""Bytes of stored moments, states and weights of all trainings that a server remembers (128 MiB). The largest single one has
64 MiB of moments and 60 MB of state."""

MAX_JOBS = 64
"""Trainings that a server remembers; the oldest are forgotten."""

MAX_WAITING_JOBS = 40
"""Trainings that wait or run on a server: a class in which everybody has another recipe."""

MAX_OWN_JOBS = 3
"""Trainings of one visitor that wait or run."""

SCHEDULER = "ATTENTION_LAB_SCHEDULER"
"""The environment variable that names the scheduler of a Dask cluster, such as tcp://host:8786. Without it, trainings run in a
process of their own beside the server."""

MAX_GUESTS = 32
"""Weights of visitors that a server keeps at once: one of each of a class. The first ones that came go first."""

MAX_GUEST_BYTES = 96 * 2**20
"""Bytes of all weights of visitors (96 MiB): a class of small models."""

MAX_GUEST_FILE = 24 * 2**20
"""Bytes of a file of weights that a visitor opens (24 MiB): the largest model that can be trained here, in single precision."""

MAX_EXPORT_BYTES = 100 * 10**6
"""Bytes of one file that a page offers (100 MB). A server keeps what it has made for a visitor as long as the visit lasts."""

BYTES_OF_A_ROW = 80
"""Bytes of a row of a picture's CSV, about: what a file will take is estimated before it is made."""
