"""What Positions says about the experiments with word order and length, word for word, from made results."""

import pytest

from viz_core.experiments.length_extrapolation import EXTRAPOLATION_STEPS, LengthResult, LengthScore
from viz_core.experiments.position_experiments import SchemePastMaxLen, SchemePrepending, SchemeReordering
from viz_core.messages.errors import UserError
from viz_core.ui.pages.positions.experiment_sentences import (
    describe_extrapolation,
    describe_order,
    describe_past_max_len,
    describe_prepending,
    describe_zeros,
)

REFUSED = UserError("max_len", max_len=4, tokens=5)


def test_another_order() -> None:
    seen, blind = SchemeReordering("rope", None, 0.5, 0.5, 1.0), SchemeReordering("none", None, 1e-8, 1e-8, 1.0)
    assert describe_order([seen]) == "RoPE: the outputs differ by 0.5 or more, so the model notices the order."
    said = describe_order([blind, seen])
    assert said.startswith("No positions, no mask: the outputs are the same vectors in another order, to within 1e−8. They ")
    assert "causal" not in said  # a causal mask that breaks nothing is not said to
    assert "A causal mask alone changes that: the outputs then differ by 0.25, because" in describe_order(
        [SchemeReordering("none", None, 0.0, 0.25, 1.0)]
    )
    assert "in another order, bit for bit." in describe_order([SchemeReordering("none", None, 0.0, 0.25, 1.0)])
    assert describe_order([SchemeReordering("rope", REFUSED)]) == ""


def test_alibi_is_told_apart_from_the_others() -> None:
    mirrored = [SchemeReordering("alibi", None, 0.0, 0.5, 1.0), SchemeReordering("none", None, 0.0, 0.5, 1.0)]
    assert describe_order(mirrored).startswith("ALiBi and no positions, no mask: ")
    assert "it cannot tell a sentence from its mirror image" in describe_order(mirrored)
    assert "mirror" not in describe_order(mirrored[1:])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            SchemePrepending("rope", None, (2e-7,)),
            "RoPE: in layer 0 the same two words have the same score, to within 2e−7 of the largest score.",
        ),
        (SchemePrepending("none", None, (0.0,)), "No positions: in layer 0 the same two words have the same score, bit for bit."),
        (
            SchemePrepending("learned", None, (0.3,)),
            "Learned: the scores change by 0.3 or more. The score depends on the position itself.",
        ),
    ],
)
def test_words_in_front(row: SchemePrepending, said: str) -> None:
    assert describe_prepending([row]).startswith(said)
    assert "deeper" not in describe_prepending([row])


def test_words_in_front_in_deeper_layers() -> None:
    said = describe_prepending([SchemePrepending("rope", None, (0.0, 0.1)), SchemePrepending("learned", None, (0.3, 0.2))])
    assert said.endswith(
        "In deeper layers the scores change under every scheme (by 0.1 to 0.2): there the new word is mixed into the others."
    )
    assert describe_prepending([SchemePrepending("rope", REFUSED)]) == ""


def test_schemes_without_any_change_are_said_to_coincide_on_the_edge() -> None:
    rope, *zeros = [
        SchemePrepending("rope", None, (2e-7, 0.1)),
        SchemePrepending("t5", None, (0.0, 0.1)),
        SchemePrepending("none", None, (0.0, 0.2)),
    ]
    start = "the change in layer 0 is exactly 0. A logarithmic axis has no 0, so "
    assert describe_zeros([rope, *zeros]) == f"T5's bias and no positions: {start}their marks coincide on the lower edge."
    assert describe_zeros([rope, zeros[1]]) == f"No positions: {start}its mark is on the lower edge."
    assert describe_zeros([rope, SchemePrepending("alibi", REFUSED)]) == ""


def test_past_the_table() -> None:
    rows = [
        SchemePastMaxLen("sinusoidal", 5, REFUSED),
        SchemePastMaxLen("learned", 5, REFUSED),
        SchemePastMaxLen("rope", 5, None, True),
    ]
    assert describe_past_max_len(rows) == (
        "Sinusoidal and learned: the model refuses the sentence with an error message. RoPE: the model reads all tokens, and all "
        "outputs are finite. That does not mean that it reads them well: max_len is the size of a table, not a trained length."
    )
    assert describe_past_max_len([SchemePastMaxLen("rope", 5, None, False)]) == "RoPE: the model reads all tokens."


def test_longer_than_trained() -> None:
    def found(way: str, **shares: tuple[float | None, ...]) -> LengthResult:
        scores = {p: tuple(LengthScore(9, s, None if s is not None else REFUSED) for s in of) for p, of in shares.items()}
        return LengthResult(way, 17, EXTRAPOLATION_STEPS[way][:2], scores)

    moved = describe_extrapolation(found("moved", sinusoidal=(1.0, 0.7), learned=(0.99, None), none=(0.95, 0.95)), 1)
    start = "Next-word accuracy on sentences that start 1 positions later: "
    assert moved.startswith(start + "sinusoidal 70% (100% before), no positions 95% (as before).")
    assert "Learned: the texts exceed the position table." in moved and "Without positions no position is new" in moved
    assert "the decoder gets some information about it from its causal mask" in moved
    row = describe_extrapolation(found("row", sinusoidal=(1.0, 0.7), none=(0.95, 0.6)), 2)
    assert row.startswith("Next-word accuracy on texts of 2 joined sentences: sinusoidal 70% (100% before)")
    assert "The accuracy falls even without positions" in row and "no position is new" not in row and "exceed" not in row
    held = describe_extrapolation(found("moved", sinusoidal=(1.0, 0.99), none=(0.95, 0.95)), 1)
    assert held == start + "sinusoidal 99% (100% before), no positions 95% (as before)."
