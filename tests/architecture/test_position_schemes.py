"""Every position scheme is complete: what one lacks is named here. CONTRIBUTING.md: "How to add a position scheme"."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import plotly.graph_objects as go
import pytest

from viz_core.analysis.cell_explanation import BIAS_BUILDERS, explain_cell
from viz_core.config import CHOICES, Position, TransformerConfig
from viz_core.config.position_schemes import POSITION_SCHEMES, AppliedTo, PositionScheme
from viz_core.experiments.position_experiments import run_schemes, with_scheme
from viz_core.figures import theme
from viz_core.figures.word_order import SCHEME_ORDER, scheme_style
from viz_core.model.transformer import Transformer
from viz_core.run import build, run
from viz_core.stages.specs import POSITION_TENSORS
from viz_core.ui.pages.positions.schemes import DETAILS

SMALL = TransformerConfig(d_model=8, n_heads=2, d_ff=12, max_len=6, source_vocab_size=17, target_vocab_size=19)
IDS = [5, 9, 7, 11]
# The stages that positions add to a stack and its layer 0.
STAGES: dict[AppliedTo, set[str]] = {
    "embedding": {"pos_embed"}, "queries and keys": {"q_rot", "k_rot"}, "scores": {"bias"}, "nowhere": set(),
}


def test_the_table_names_every_scheme_of_the_config() -> None:
    assert tuple(POSITION_SCHEMES) == get_args(Position) == CHOICES["position"]


def lacking(name: Position, scheme: PositionScheme) -> Iterator[str]:
    """What an entry lacks, each in one sentence."""
    for field in ("title", "name", "summary", "source"):
        if not str(getattr(scheme, field)).strip():
            yield f"POSITION_SCHEMES[{name!r}] has no {field}"
    others = [POSITION_SCHEMES[other] for other in POSITION_SCHEMES if other != name]
    for field in ("title", "name", "line_dash", "marker_symbol"):
        if str(getattr(scheme, field)) in {str(getattr(other, field)) for other in others}:
            yield f"POSITION_SCHEMES[{name!r}] shares its {field} with another scheme, so they cannot be told apart"
    if SCHEME_ORDER.index(name) >= len(theme.HEAD_COLOURS):
        yield f"there is no colour left for {name!r} in theme.HEAD_COLOURS"
    if not scheme.explanation and name not in DETAILS:
        yield f"POSITION_SCHEMES[{name!r}] has no explanation, and ui/pages/positions/schemes.py has no function for it"
    if lacks := STAGES[scheme.applied_to] - scheme.stages.keys():
        yield f"POSITION_SCHEMES[{name!r}] changes the {scheme.applied_to}, so it needs the stages {sorted(lacks)}"
    if unknown := scheme.stages.keys() - POSITION_TENSORS.keys():
        yield f"stages/specs.py knows no axes of the stages {sorted(unknown)} of {name!r}: add them to POSITION_TENSORS"
    for stage, own in scheme.stages.items():
        missing = [part for part in ("formula", "inputs", "meaning") if not getattr(own, part)]
        yield from (f"stage {stage!r} of {name!r} has no {part}" for part in missing)
    if scheme.applied_to == "scores" and name not in BIAS_BUILDERS:
        yield f"analysis/cell_explanation.py cannot explain a cell of the bias of {name!r}: add it to BIAS_BUILDERS"
    if (scheme.applied_to == "scores") is not bool(scheme.bias_explanation):
        yield f"POSITION_SCHEMES[{name!r}] needs a bias_explanation if it is added to the scores, and only then"


@pytest.mark.parametrize("name", POSITION_SCHEMES)
def test_an_entry_is_complete(name: Position) -> None:
    gaps = "\n".join(lacking(name, POSITION_SCHEMES[name]))
    assert not gaps, gaps


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"summary": " "}, "has no summary"),
        ({"title": "RoPE"}, "shares its title with another scheme"),
        ({"explanation": "", "bias_explanation": ""}, "needs a bias_explanation if it is added to the scores"),
        ({"stages": {}}, "changes the scores, so it needs the stages ['bias']"),
        ({"stages": {"bias": POSITION_SCHEMES["alibi"].stages["bias"], "gate": POSITION_SCHEMES["alibi"].stages["bias"]}},
         "knows no axes of the stages ['gate']"),
        ({"stages": {"bias": replace(POSITION_SCHEMES["alibi"].stages["bias"], formula="")}}, "has no formula"),
    ],
    ids=str,
)
def test_what_an_entry_lacks_is_told(change: dict[str, Any], told: str) -> None:
    gaps = list(lacking("alibi", replace(POSITION_SCHEMES["alibi"], **change)))
    assert any(told in gap for gap in gaps), gaps


def test_a_scheme_without_a_text_anywhere_is_told() -> None:
    assert any("has no explanation" in gap for gap in lacking("none", replace(POSITION_SCHEMES["none"], explanation="")))


@pytest.mark.parametrize("name", POSITION_SCHEMES)
def test_plotly_draws_its_line(name: Position) -> None:
    go.Scatter(x=[0], y=[0], **scheme_style(name))  # refuses a dash or symbol that it does not know


# ---------------------------------------------------------------- what an entry says is what the model does


def parameters(model: Transformer) -> set[str]:
    """Modules with parameters that each stack has beside the embeddings, layers and norms of every model."""
    plain = set(dict(build(replace(SMALL, position="none")).encoder.named_children()))
    return {child for child, _ in model.encoder.named_children()} - plain


@pytest.mark.parametrize("name", POSITION_SCHEMES)
def test_its_parameter_is_in_every_stack(name: Position) -> None:
    model = build(replace(SMALL, position=name))
    assert parameters(model) == ({POSITION_SCHEMES[name].parameter_name} - {""})
    other = with_scheme(build(replace(SMALL, position="none"), seed=5), name, seed=5)  # drawn as an untrained model draws it
    for (path, a), b in zip(other.named_parameters(), build(replace(SMALL, position=name), seed=5).parameters(), strict=True):
        np.testing.assert_array_equal(a.detach(), b.detach(), err_msg=path)


@pytest.mark.parametrize("name", POSITION_SCHEMES)
def test_positions_enter_where_it_says(name: Position) -> None:
    capture = run(replace(SMALL, position=name), [IDS], [IDS])
    added = {stage.rpartition(".")[2] for stage in capture} & set.union(*STAGES.values())
    place = POSITION_SCHEMES[name].applied_to
    assert added == STAGES[place], (
        f"POSITION_SCHEMES[{name!r}] enters {place!r}, so Stack or Attention in viz_core/model has to tap {STAGES[place]} for it"
    )


@pytest.mark.parametrize("name", POSITION_SCHEMES)
def test_a_table_ends_and_a_formula_does_not(name: Position) -> None:
    config, long = replace(SMALL, position=name), [[5] * 7]
    if POSITION_SCHEMES[name].has_table:
        with pytest.raises(ValueError, match="max_len 6 is too short for 7 tokens"):
            run(config, long, [IDS])
    else:
        run(config, long, [IDS])


@pytest.mark.parametrize("name", POSITION_SCHEMES)
def test_the_base_matters_where_it_says(name: Position) -> None:
    config = replace(SMALL, position=name)
    a, b = (run(replace(config, position_base=base), [IDS], [IDS])["logits"] for base in (10000.0, 3.0))
    assert np.array_equal(a, b) is not POSITION_SCHEMES[name].has_base


@pytest.mark.parametrize("name", POSITION_SCHEMES)
def test_every_cell_of_its_stages_is_explained(name: Position) -> None:
    config = replace(SMALL, position=name)
    model = build(config)
    capture = run(config, [IDS], [IDS], weights=model)
    for stage in capture:
        index = tuple(n - 1 for n in capture[stage].shape)
        assert explain_cell(capture, stage, index, lambda p: model.get_parameter(p).detach().numpy()).agrees, stage


def test_all_of_them_stand_side_by_side() -> None:
    found = run_schemes(build(SMALL), IDS)
    assert [s.position for s in found] == list(POSITION_SCHEMES) and not any(s.problem for s in found)
