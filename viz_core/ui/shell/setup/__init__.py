"""One setup: the value, the table of its controls, its link, and the sentences in it. No Streamlit in here."""

from viz_core.ui.shell.setup.controls import (
    BY_FIELD,
    CONTROLS,
    MAX_D_MODEL,
    NO_SIZE,
    RESOLVED,
    SIZES,
    WEIGHTLESS,
    Control,
)
from viz_core.ui.shell.setup.link_format import (
    LEFT_OUT,
    LONG,
    LeftOut,
    from_link,
    packed,
    packed_size,
    to_link,
    unpacked,
    unpacked_size,
    with_left_out,
)
from viz_core.ui.shell.setup.problem_sentences import problem_words
from viz_core.ui.shell.setup.typed_text import ids, sentences
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
    Setup,
    Tokens,
    changes,
    editable,
    offered,
    opening,
    with_field,
    with_preset,
    with_view,
    with_weights,
)

__all__ = [
    "BY_FIELD", "CONTROLS", "DEFAULT_PRESET", "DEFAULT_SOURCE", "DEFAULT_TARGET", "DEVICES", "LEFT_OUT", "LONG", "MAX_D_MODEL",
    "MAX_SEED", "NO_SIZE", "OPENING", "RESOLVED", "SIZES", "TEXTS", "TOKENS", "VIEW", "WEIGHTLESS", "Control", "LeftOut", "Setup",
    "Tokens", "changes", "editable", "from_link", "ids", "offered", "opening", "packed", "packed_size", "problem_words",
    "sentences", "to_link", "unpacked", "unpacked_size", "with_field", "with_left_out", "with_preset", "with_view", "with_weights",
]
