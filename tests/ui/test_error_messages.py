"""A problem of a setting or an input reaches the screen in the page's words: with the control's label, and never as code."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import viz_core
from viz_core.analysis.size_estimates import REMEDIES, estimate_size
from viz_core.config import TransformerConfig
from viz_core.config.limits import MAX_PARAMETERS, megabytes
from viz_core.messages.errors import UserError
from viz_core.ui.shell.setup import error_message, error_messages
from viz_core.ui.shell.setup.error_messages import MESSAGES

PACKAGE = Path(viz_core.__file__).parent
MADE_HERE = {"setting", "shown"}  # values that the page adds
RAISED = [  # file, code, the values given; config's own helper adds field and value
    (path.name, node)
    for path in sorted(PACKAGE.rglob("*.py")) if "ui" not in path.relative_to(PACKAGE).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("UserError", "_setting_error")
]


def code_of(call: ast.Call) -> str:
    """The code that a problem is raised with: its second argument, or the fifth of config's helper."""
    at = 1 if isinstance(call.func, ast.Name) and call.func.id == "UserError" else 4
    if len(call.args) <= at:
        return "value"
    code = call.args[at]
    assert isinstance(code, ast.Constant) and isinstance(code.value, str)
    return code.value


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert {code_of(call) for _, call in RAISED} == set(MESSAGES)


def test_a_sentence_names_only_what_its_problem_holds() -> None:
    wrong = []
    for file, call in RAISED:
        named = {name for _, name, _, _ in Formatter().parse(MESSAGES[code_of(call)].message) if name}
        of_a_setting = isinstance(call.func, ast.Name) and call.func.id == "_setting_error"
        if not named - MADE_HERE <= {k.arg for k in call.keywords} or (named & MADE_HERE and not of_a_setting):
            wrong.append(f"{file}: {code_of(call)} names {sorted(named)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("change", "words"), [
    ({"d_model": 65}, "d_model 65 does not split into 4 equal heads; choose 64 or 68."),
    ({"d_model": 3}, "d_model 3 does not split into 4 equal heads; choose 4."),
    ({"source_pad_id": 1000}, "Source pad id 1000 is outside the vocabulary of 1,000 words; choose an id from 0 to 999."),
    ({"norm": "none", "final_norm": True},
     "Final norm has no effect in a model without LayerNorms; turn it off, or choose where the LayerNorms are."),
    ({"norm": "most"}, "LayerNorm cannot be most; choose another value."),
    ({"dropout": 2.0}, "dropout cannot be 2.0; choose another value."),
])
def test_a_setting_is_named_by_its_label(change: dict, words: str) -> None:
    with pytest.raises(UserError) as raised:
        TransformerConfig(**change)
    assert error_message(raised.value) == words


def test_a_notebook_reads_a_sentence_and_a_page_the_values() -> None:
    with pytest.raises(UserError) as raised:
        TransformerConfig(d_model=65)
    assert str(raised.value) == "d_model=65 does not split into n_heads=4 equal heads; use 64 or 68."
    assert raised.value.code == "heads_split"
    assert raised.value.values == {"field": "d_model", "value": 65, "heads": 4, "fits": [64, 68]}


def test_a_run_that_is_too_large_names_what_to_lower() -> None:
    config = TransformerConfig(d_model=1024, n_heads=8, n_encoder_layers=12, n_decoder_layers=12)
    size = estimate_size(config, 1, 5, 5)
    assert size.problem and error_message(size.problem) == (
        f"This model would have {size.parameters:,} parameters and the limit is {MAX_PARAMETERS:,}: lower d_model, d_ff, the "
        "number of layers or the vocabulary size."
    )
    size = estimate_size(TransformerConfig(), 32, 1000, 1000)
    assert size.problem and error_message(size.problem).startswith(
        f"This run would record {megabytes(size.capture_bytes)} and the limit is 536.9 MB: lower the number of words"
    )
    assert {*REMEDIES.values(), "layers"} == set(error_messages.REMEDY_NAMES)


def test_a_page_s_own_error_keeps_its_words() -> None:
    assert error_message(ValueError("Choose two words.")) == "Choose two words."
