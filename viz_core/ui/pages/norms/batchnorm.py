"""LayerNorm beside BatchNorm on the typed batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from viz_core.analysis.attention import real
from viz_core.analysis.layernorm import NORMS, Cell, Norm, cases, max_abs_diff, members, normalise, share, stream
from viz_core.capture import Capture
from viz_core.figures.attention import number
from viz_core.figures.batchnorm import NAMES, Members, cells_html, result_panels
from viz_core.stages import Side
from viz_core.text import visible
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.controls import dark, table
from viz_core.ui.pages.norms.choices import NO_SENTENCE, choose_feature, choose_option, choose_sentence, choose_side, choose_token
from viz_core.ui.shell import Lab, set_view, touch

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.run`
    from viz_core.run import Batch

COMPANY = {
    "batch": "the whole batch, padding counted", "words": "the whole batch, words only", "sentence": "this sentence alone",
    "token": "this token alone",
}
USED_FOR: dict[Norm, str] = {
    "layer": "Transformers, and batches that are small or change in size.", "batch": "images in convolutional networks.",
    "instance": "style transfer with images.",
}
FORMULAS = (
    r"- **LayerNorm**, for each token over its features: $\mu_{bt} = \frac{1}{D}\sum_d x_{btd}$" "\n"
    r"- **BatchNorm**, for each feature over all tokens of all sentences: $\mu_d = \frac{1}{BT}\sum_b\sum_t x_{btd}$" "\n"
    r"- **InstanceNorm**, for each feature over the tokens of one sentence: $\mu_{bd} = \frac{1}{T}\sum_t x_{btd}$"
)


def layer_and_batch(lab: Lab) -> None:
    """The typed batch as a tensor: which cells share a mean in each norm, what each gives, and what company does to it."""
    if lab.capture is None or lab.batch is None:
        st.info(NO_SENTENCE)
        return
    capture, item, told = _in_company(lab, lab.capture, lab.batch)
    st.markdown("**Pick a cell and see whom it is compared with:** LayerNorm asks only the cell's own token, BatchNorm the same "
                f"feature in every token of every sentence. {told}")
    sides: list[Side] = [s for s in ("source", "target") if f"ids.{s}" in capture]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if told == "":
            item = choose_sentence(lab, capture)
        side = choose_side(lab, sides)
        names = stream(lab.config, side)
        stage = choose_option("norm_stage", "What is normalised", names, {n: n for n in names})
        tokens = capture.tokens(side)
        token = choose_token(tokens[item])
        x = capture[stage]  # [B, T, D]
        feature = choose_feature(x[item, token])
    at, eps = Cell(item, token, feature), lab.config.norm_eps
    words = np.stack([real(capture, side, i) for i in range(len(x))])  # [B, T]
    every = np.ones_like(words)
    found = [Members(norm, members(norm, x.shape, at, every), _told(x, norm, at, eps)) for norm in NORMS]
    st.html(cells_html(found, words, tokens, at, dark()))
    st.markdown(FORMULAS)
    _company(x, words, at, eps)
    _gives(x, tokens, at, eps, stage)
    _torch_too(x, eps)


def _in_company(lab: Lab, capture: Capture, batch: "Batch") -> tuple[Capture, int, str]:
    """The run with more than one sentence: the typed batch, or one sentence together with its own first half."""
    if capture.n_sentences > 1 or max(ids.shape[1] for ids in batch.ids.values()) == 1:  # a single token has no half
        return capture, min(lab.setup.item, capture.n_sentences - 1), ""
    from viz_core.experiments.layernorm import beside_its_half
    from viz_core.ui.shell.cache import cached_run

    setup = lab.setup
    pair = beside_its_half(lab.config, batch, 0)
    run = cached_run(setup.weights, lab.config, pair, setup.seed, setup.device)
    return run, 0, ("You typed one sentence, so here the model reads it together with its own first half, padded to the same "
                    "length; type more lines for a batch of your own.")


def _told(x: np.ndarray, norm: Norm, at: Cell, eps: float) -> str:
    """One norm's numbers for the picked cell, and what it is used for."""
    found = share(x, norm, at, eps, np.ones(x.shape[:2], bool))
    return (
        f"Mean of {_cells(found.cells)}: μ = {number(found.mean, 4)}, σ² = {number(found.var, 4)}. The picked cell, "
        f"{number(float(x[at]), 4)}, becomes <b>{number(found.value, 4)}</b>. Document 002: {USED_FOR[norm]}"
    )


def _gives(x: np.ndarray, tokens: Sequence[Sequence[str]], at: Cell, eps: float, stage: str) -> None:
    """The picked sentence before, and after LayerNorm and BatchNorm."""
    every = np.ones(x.shape[:2], bool)
    st.markdown(f"**What each gives:** {what_each_gives(x, eps)} γ is 1 and β is 0 in both. Click a cell to pick it.")
    parts = [(f"What enters: {stage}", x[at.sentence])]
    norms: tuple[Norm, ...] = ("layer", "batch")
    parts += [(f"After {NAMES[norm]}", share(x, norm, at, eps, every).sentence) for norm in norms]
    names = list(map(visible, tokens[at.sentence]))

    def picked(pick: Pick | None) -> None:
        touch()
        if pick is not None:
            set_view(norm_token=pick.row, norm_feature=pick.col)

    here = Pick(0, at.token, at.feature)
    matrices(result_panels(parts, names), key="norm_both", pick=here, on_pick=picked)


def what_each_gives(x: np.ndarray, eps: float) -> str:
    """Mean 0 and variance 1 of what x [B, T, D] becomes: how many rows have them after LayerNorm, columns after BatchNorm."""
    if not np.isfinite(x).all():
        return "some numbers here are infinite or NaN, and so is what they are normalised with."
    every = np.ones(x.shape[:2], bool)
    rows, columns = normalise(x, "layer", eps, every).var(axis=-1).ravel(), normalise(x, "batch", eps, every).var(axis=(0, 1))

    def told(variance: np.ndarray, what: str) -> str:
        one = int((np.abs(variance - 1) < 0.01).sum())
        return f"every {what} has" if one == len(variance) else f"{one:,} of {len(variance):,} {what}s have"

    said = (f"after LayerNorm {told(rows, 'row')} mean 0 and variance 1; after BatchNorm {told(columns, 'column')}, over all "
            "sentences and their padding together.")
    short = bool((np.abs(rows - 1) >= 0.01).any() or (np.abs(columns - 1) >= 0.01).any())
    return said + " The others have hardly any variance beside ε to begin with." * short


def _company(x: np.ndarray, words: np.ndarray, at: Cell, eps: float) -> None:
    """What the picked cell becomes as other sentences, padding and other tokens leave."""
    found = cases(x, words, at, eps)
    st.markdown("**The same numbers in other company:** LayerNorm does not notice who else is in the batch. BatchNorm's answer for "
                "this sentence depends on the others, and on how much padding they brought.")
    table(
        ("normalised with", "LayerNorm gives", "BatchNorm gives", "its largest change", "its mean over", "μ", "σ²"),
        [
            (COMPANY[c.company], number(c.layer.value, 4), number(c.batch.value, 4), "–" if c is found[0] else number(c.moved, 3),
             _cells(c.batch.cells), number(c.batch.mean, 4), number(c.batch.var, 4))
            for c in found
        ],
    )
    padding = int((~words).sum())
    if not padding:
        st.caption("No sentence of this batch is padded: type one that is shorter than the others to see what padding does.")
    layer = float(np.nanmax([c.layer_moved for c in found]))
    st.caption(f"The change is the largest of any feature of this sentence's words against the first line; LayerNorm's is "
               f"{number(layer, 3)}. "
               + (f"{padding:,} of the batch's {words.size:,} tokens are padding. " if padding else "")
               + "A token alone is its own mean, so BatchNorm makes it 0 in every feature. In use, after training, BatchNorm "
               "takes running averages from training instead of the batch's own mean and variance.")


def _cells(n: int) -> str:
    return "1 cell" if n == 1 else f"{n:,} cells"


def _torch_too(x: np.ndarray, eps: float) -> None:
    """The largest difference between all this and torch's modules on the same tensor, now."""
    from viz_core.experiments.layernorm import torch_normalise

    every = np.ones(x.shape[:2], bool)
    modules: dict[Norm, str] = {"layer": "LayerNorm", "batch": "BatchNorm1d", "instance": "InstanceNorm1d"}
    told = []
    for norm, module in modules.items():
        try:
            apart = max_abs_diff(torch_normalise(x, norm, eps), normalise(x, norm, eps, every))
            told.append(f"torch.nn.{module} {number(apart, 3)}")
        except ValueError:  # torch's refusal, in our words
            told.append(f"torch.nn.{module} refuses a single token, which has no variance to take")
    st.caption(f"Against torch in training mode, padding counted, largest difference: {'; '.join(told)}.")
