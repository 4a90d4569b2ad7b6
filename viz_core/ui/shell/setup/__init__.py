"""The `Setup` value, the table of its controls, its link, and its typed text. This package does not import Streamlit."""

from viz_core.ui.shell.setup.controls import (
    CONTROL_BY_FIELD,
    CONTROLS,
    MAX_D_MODEL,
    DERIVED_SIZE,
    VOCAB_FIELDS,
    RESOLVED_PROPERTIES,
    HEAD_SPLIT_FIELDS,
    NON_PARAMETER_FIELDS,
    Control,
)
from viz_core.ui.shell.setup.link_format import (
    OVERFLOW_PARAM,
    LONG_PARAMS,
    OverflowText,
    without_weights,
    from_link,
    to_query,
    to_size_query,
    to_link,
    from_query,
    from_size_query,
    with_overflow,
)
from viz_core.ui.shell.setup.problem_sentences import join_or, error_message
from viz_core.ui.shell.setup.typed_text import aligned_to_source, parse_ids, format_line_numbers, typed_sentences, source_line_numbers, with_added_sentence
from viz_core.ui.shell.setup.value import (
    DEFAULT_PRESET,
    DEFAULT_SOURCE,
    DEFAULT_TARGET,
    DEVICES,
    MAX_SEED,
    DEFAULT_WEIGHTS,
    TEXT_SIDES,
    TOKENIZER_CHOICES,
    URL_PARAM_BY_NAME,
    WRITERS,
    Setup,
    TokenizerChoice,
    Writer,
    changed_fields,
    is_editable,
    invalidates_weights,
    incompatible_fields,
    allowed_values,
    default_setup,
    tokenizer_choices,
    with_field,
    with_compatible_config,
    with_base_config,
    with_preset,
    with_url_params,
    with_weights,
)

__all__ = [
    "CONTROL_BY_FIELD", "CONTROLS", "DEFAULT_PRESET", "DEFAULT_SOURCE", "DEFAULT_TARGET", "DEVICES", "OVERFLOW_PARAM", "LONG_PARAMS",
    "MAX_D_MODEL", "MAX_SEED", "DERIVED_SIZE", "VOCAB_FIELDS", "DEFAULT_WEIGHTS", "RESOLVED_PROPERTIES", "HEAD_SPLIT_FIELDS", "TEXT_SIDES", "TOKENIZER_CHOICES", "URL_PARAM_BY_NAME",
    "NON_PARAMETER_FIELDS", "WRITERS", "Control", "OverflowText", "Setup", "TokenizerChoice", "Writer", "aligned_to_source", "changed_fields", "is_editable",
    "join_or", "without_weights", "from_link", "parse_ids", "invalidates_weights", "format_line_numbers", "incompatible_fields", "allowed_values", "default_setup", "to_query", "to_size_query",
    "error_message", "typed_sentences", "source_line_numbers", "to_link", "tokenizer_choices", "from_query", "from_size_query", "with_field",
    "with_compatible_config", "with_overflow", "with_added_sentence", "with_base_config", "with_preset", "with_url_params", "with_weights",
]
