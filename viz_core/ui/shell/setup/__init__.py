"""The `Setup` value, the table of its controls, its link, and its typed text. This package does not import Streamlit."""

from viz_core.ui.shell.setup.controls import (
    BY_FIELD,
    CONTROLS,
    MAX_D_MODEL,
    NO_SIZE,
    OF_WORDS,
    RESOLVED,
    SIZES,
    WEIGHTLESS,
    Control,
)
from viz_core.ui.shell.setup.link_format import (
    LEFT_OUT,
    LONG,
    LeftOut,
    forgotten,
    from_link,
    packed,
    packed_size,
    to_link,
    unpacked,
    unpacked_size,
    with_left_out,
)
from viz_core.ui.shell.setup.problem_sentences import either, problem_words
from viz_core.ui.shell.setup.typed_text import beside_source, ids, line_numbers, sentences, source_lines, with_one_more
from viz_core.ui.shell.setup.value import (
    DEFAULT_PRESET,
    DEFAULT_SOURCE,
    DEFAULT_TARGET,
    DEVICES,
    MAX_SEED,
    OPENING,
    TEXTS,
    TOKENS,
    VIEW,
    WRITERS,
    Setup,
    Tokens,
    Writer,
    changes,
    editable,
    leaves,
    misfits,
    offered,
    opening,
    tokens,
    with_field,
    with_fitting_values,
    with_own_values,
    with_preset,
    with_view,
    with_weights,
)

__all__ = [
    "BY_FIELD", "CONTROLS", "DEFAULT_PRESET", "DEFAULT_SOURCE", "DEFAULT_TARGET", "DEVICES", "LEFT_OUT", "LONG",
    "MAX_D_MODEL", "MAX_SEED", "NO_SIZE", "OF_WORDS", "OPENING", "RESOLVED", "SIZES", "TEXTS", "TOKENS", "VIEW",
    "WEIGHTLESS", "WRITERS", "Control", "LeftOut", "Setup", "Tokens", "Writer", "beside_source", "changes", "editable",
    "either", "forgotten", "from_link", "ids", "leaves", "line_numbers", "misfits", "offered", "opening", "packed", "packed_size",
    "problem_words", "sentences", "source_lines", "to_link", "tokens", "unpacked", "unpacked_size", "with_field",
    "with_fitting_values", "with_left_out", "with_one_more", "with_own_values", "with_preset", "with_view", "with_weights",
]
