"""the parity line on a page: one line of true numbers, a closer look, and no surprise for big models."""

from typing import get_args

import pytest
import torch
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import Open, bodies, components, frame, own_link, sound, tiny, widget
from viz_core.config import TransformerConfig
from viz_core.experiments.parity import SDPA, Parity, ParityCheck, TorchLimitation, check_parity
from viz_core.messages.number_format import rounded
from viz_core.run import build, prepare, trace
from viz_core.ui.pages.step_by_step import parity as line
from viz_core.ui.shell.setup import from_link

TEXT = {"source": "the cat sat\nno", "target": "a b\nc"}


def said(at: AppTest) -> str:
    (found,) = [c.value for c in at.caption if "the largest difference from" in c.value]
    return found


def expected(params: dict[str, str]) -> Parity:
    """The same proof without the app."""
    setup = from_link(params)[0]
    config = setup.config
    batch = prepare(config, setup.source.split("\n"), setup.target.split("\n"))
    model = build(config)
    return check_parity(model, batch, trace(model, batch))


@pytest.mark.parametrize("preset", ["000", "001", "002", "003", "004"])
def test_the_line_says_what_the_proof_found(open_at: Open, preset: str) -> None:
    params = tiny(preset, **TEXT, device="cpu")
    proof, at = expected(params), sound(open_at("step_by_step", **params))
    assert said(at).startswith("Checked on this machine: the largest difference from torch.nn.TransformerEncoder")
    assert f" {rounded(proof.difference, 2)}, over {len(proof.checks)} stages ({proof.numbers:,} numbers)." in said(at)
    assert ("and TransformerDecoder" in said(at)) == (preset != "003")


def test_where_torchs_layers_cannot_the_line_says_why(open_at: Open) -> None:
    at = sound(open_at("step_by_step", **tiny(position="rope", **TEXT)))
    assert f"difference from {SDPA} with the same weights is " in said(at)
    assert said(at).endswith("torch's layers cannot rotate queries and keys, as RoPE does.")


def test_a_closer_look_has_a_row_for_each_stage(open_at: Open) -> None:
    params = tiny(**TEXT, device="cpu")
    assert not open_at("step_by_step", **params).dataframe
    at = sound(open_at("step_by_step", **params, open="proof_more"))
    table, proof = frame(at), expected(params)
    assert table["difference"].iloc[0] == proof.difference and table["difference"].is_monotonic_decreasing  # the worst first
    again = table.sort_values("step")
    assert list(again["stage"]) == [c.stage for c in proof.checks] and list(again["step"]) == list(range(1, len(table) + 1))
    assert list(again["difference"]) == [c.difference for c in proof.checks] and "nn.MultiheadAttention" in set(again["by"])
    assert any(line.explain_parity(proof).replace("'", "&#x27;") in body for body in bodies(at))


def test_a_step_of_the_walk_leaves_it_alone(open_at: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    at = sound(open_at("step_by_step", **tiny(**TEXT)))
    before = said(at)
    monkeypatch.setattr("viz_core.experiments.parity.check_parity", lambda *a: pytest.fail("proved again"))
    sound(widget(at, "walk_next").click().run())
    assert said(at) == before and "stage" in own_link(at)
    assert len(components(at)) == 3


def test_a_change_of_the_model_is_proved_again(open_at: Open) -> None:
    at = sound(open_at("step_by_step", **tiny(**TEXT)))
    sound(widget(at, "target").set_value("a b c d\ne").run())
    params = tiny(source=TEXT["source"], target="a b c d\ne")
    assert f"({expected(params).numbers:,} numbers)" in said(at) and expected(params).numbers > expected(tiny(**TEXT)).numbers


def test_a_big_model_is_checked_when_asked(open_at: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "MAX_AUTOMATIC_PARAMETERS", 1000)
    at = sound(open_at("step_by_step", **tiny(**TEXT)))
    assert not [c for c in at.caption if "largest difference" in c.value]
    sound(widget(at, "parity_ask").click().run())
    assert "Checked on this machine" in said(at)
    sound(widget(at, "walk_next").click().run())
    assert "Checked on this machine" in said(at)  # the answer stays while the walk goes on
    sound(widget(at, "seed").set_value(5).run())
    assert widget(at, "parity_ask") and not [c for c in at.caption if "largest difference" in c.value]


def test_a_run_that_is_not_torchs_is_a_warning(open_at: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model with a score left undivided, as a slip in its source would."""
    from viz_core.model.attention import Attention

    softmax = Attention.softmax
    monkeypatch.setattr(Attention, "softmax", lambda self, scores, mask: softmax(self, 1.5 * scores, mask))
    at = open_at("step_by_step", **tiny(**TEXT))
    assert not at.exception
    (warning,) = [w.value for w in at.warning]
    assert warning.startswith("This run and torch disagree") and ", first at `encoder.layers.0.self_attn.out`, over" in warning


def test_padding_alone_is_not_called_checked(open_at: Open) -> None:
    at = open_at("step_by_step", **tiny("003", tokenizer="ids", source="0 0"))
    assert not at.exception
    assert any("nothing to compare with torch" in c.value for c in at.caption)


def test_without_a_run_there_is_no_line(open_at: Open) -> None:
    at = open_at("step_by_step", **tiny(source=" ", target=" "))
    assert not at.exception and not [c for c in at.caption if "torch" in c.value]


# ---------------------------------------------------------------- words


def made(difference: float, why_not: tuple[TorchLimitation, ...] = (), both_nan: int = 0) -> Parity:
    check = ParityCheck("decoder.layers.0.<b>", "nn.Linear", difference, 2.0, 10, both_nan)
    against = (SDPA,) if why_not else ("torch.nn.TransformerEncoder",)
    config = TransformerConfig(qk_dim=32, mask_fill=-1e4)
    return Parity(config, against, why_not, (check, ParityCheck("logits", "F.linear", 0.0, 1.0, 5, 0)))


def test_the_sentence() -> None:
    assert line.describe_parity(made(4.84e-7)) == (
        "Checked on this machine: the largest difference from torch.nn.TransformerEncoder with the same weights is 4.8e−7, "
        "over 2 stages (15 numbers)."
    )
    assert " is 0, over" in line.describe_parity(made(0.0))
    told = line.describe_parity(made(0.0, ("qk_width", "weak_fill"), both_nan=3))
    assert told.endswith(
        "(15 numbers, 3 of them NaN on both sides). torch's layers make queries d_model=64 wide, and here they are 32 wide. "
        "torch's layers give masked cells no weight at all, and here the fill −10000 leaves them some."
    )
    assert line.describe_parity(made(float("inf"))).startswith("This run and torch disagree: ")
    assert " is NaN on one side only, first at `decoder.layers.0.<b>`, over" in line.describe_parity(made(float("inf")))


def test_every_reason_has_a_sentence() -> None:
    assert set(line.INEXPRESSIBLE_REASONS) == set(get_args(TorchLimitation))


def test_what_it_means_claims_no_more_than_was_found() -> None:
    assert "rounding" in line.explain_parity(made(1e-7)) and "numbers on these pages agree" in line.explain_parity(made(1e-7))
    assert "rounding" not in line.explain_parity(made(0.0))
    assert "So " not in line.explain_parity(made(0.5)) and "rounding" not in line.explain_parity(made(0.5))
    assert "each step" in line.explain_parity(made(1e-7, ("rotated",)))


def test_the_table_says_where_one_side_alone_is_nan() -> None:
    def page() -> None:
        from tests.ui.test_parity import made
        from viz_core.ui.components.calls import Call
        from viz_core.ui.pages.step_by_step.parity import _show_differences

        _show_differences(Call(made, float("inf"), both_nan=2))

    at = AppTest.from_function(page).run()
    assert not at.exception and [c.value for c in at.caption] == ["Infinity: NaN on one side only."]
    table = frame(at)
    assert table["stage"].iloc[0] == "decoder.layers.0.<b>" and set(table["both_nan"]) == {0, 2}  # data, not HTML


def test_the_page_loads_no_torch_before_it_draws() -> None:
    import subprocess
    import sys

    code = "import sys, viz_core.ui.pages.step_by_step.parity; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
    assert torch is sys.modules["torch"]
