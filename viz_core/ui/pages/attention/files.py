"""Files to download: one head as numbers (CSV) and pictures (SVG), all heads as one offline page, and the whole run."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from viz_core.analysis.attention import Step
from viz_core.analysis.labelled_weights import layer_weights
from viz_core.capture import Capture
from viz_core.figures.attention import KIND_TITLES, head_panel
from viz_core.figures.export import lines_svg, panel_svg
from viz_core.figures.offline import attention_page, most_bytes
from viz_core.figures.panels import Panel
from viz_core.language import translate as _
from viz_core.limits import MAX_EXPORT_BYTES, megabytes
from viz_core.presets import PRESETS
from viz_core.run_file import Kind, run_bytes
from viz_core.ui.pages.attention.focus import InFocus, words_shown
from viz_core.ui.shell import Lab
from viz_core.ui.shell.run import glosses_in_use
from viz_core.ui.shell.setup import Setup, to_link
from viz_core.ui.shell.two_runs import shown_run

STEP_NAMES: dict[Step, str] = {"raw": "q·k", "scaled": "÷ √d_k", "biased": _("+ bias"), "masked": _("masked"),
                               "weights": _("weights")}


def save(setup: Setup, capture: Capture, focus: InFocus) -> None:
    """Offer this head, all heads and the whole run as files, each made when somebody clicks it, if it is not too large.

    Streamlit calls the functions outside of any session and keeps them as long as the session. So each holds the setup
    and the focus, and fetches the run from the store instead of holding it.
    """
    named = f"{focus.kind}_layer{focus.layer}_head{focus.head}_{focus.step}"
    files = (
        ("numbers", _("Numbers (CSV)"), numbers_file, f"{named}.csv", "text/csv"),
        ("matrix", _("Matrix (SVG)"), matrix_file, f"{named}.svg", "image/svg+xml"),
        ("lines", _("Lines (SVG)"), lines_file, f"{focus.kind}_layer{focus.layer}_lines.svg", "image/svg+xml"),
    )
    large = (
        ("page", _("All heads, as a page without a network (HTML)"), page_file, "attention.html", "text/html", most_bytes(capture)),
        ("npz", _("The whole run (NumPy)"), partial(run_file, "npz"), "run.npz", "application/octet-stream", capture.nbytes),
        ("safetensors", _("The whole run (safetensors)"), partial(run_file, "safetensors"), "run.safetensors",
         "application/octet-stream", capture.nbytes),
    )
    with st.popover(_("Save"), icon=":material/download:", key="att_save"):
        for key, label, make, name, mime in files:
            data = partial(make, setup, focus)
            st.download_button(label, data, name, mime, key=f"att_save_{key}", on_click="ignore")
        for key, label, make, name, mime, nbytes in large:
            if nbytes > MAX_EXPORT_BYTES:
                st.caption(_("{label} would take up to {size}, and the limit is {limit}; shorten the text.", label=label,
                             size=megabytes(nbytes, 0), limit=megabytes(MAX_EXPORT_BYTES, 0)))
            else:
                data = partial(make, setup, focus)
                st.download_button(label, data, name, mime, key=f"att_save_{key}", on_click="ignore")


def numbers_file(setup: Setup, focus: InFocus) -> bytes:
    """The matrix of the head in focus as CSV: one row a cell, with the tokens as the page labels them."""
    from viz_core import drawn  # here: pandas takes half a second, and the page is shown without it
    from viz_core.tidy import csv_of

    return csv_of(drawn.panels([_saved_panel(setup, focus)]))


def matrix_file(setup: Setup, focus: InFocus) -> bytes:
    """The matrix of the head in focus as SVG."""
    return panel_svg(_saved_panel(setup, focus), f"{focus.name}: {STEP_NAMES[focus.step]}").encode()


def lines_file(setup: Setup, focus: InFocus) -> bytes:
    """The lines of the layer in focus as SVG: those of every token, whichever is hovered or locked."""
    lab, capture = _saved_run(setup)
    words = words_shown(lab, capture, focus.kind, focus)
    weights, queries, keys = layer_weights(capture, focus.kind, focus.layer, focus.item, words)
    return lines_svg(weights, queries, keys, focus.overlaid, _("{kind_titles}, layer {layer}",
                                                               kind_titles=KIND_TITLES[focus.kind], layer=focus.layer)).encode()


def page_file(setup: Setup, focus: InFocus) -> bytes:
    """All heads of the sentence in focus as a page of its own, which names the model."""
    __, capture = _saved_run(setup)
    here = (focus.kind, focus.layer, focus.head)
    model = PRESETS[setup.preset].title if setup.card is None else setup.card.title
    return attention_page(capture, focus.item, here, _("Attention: {model}", model=model), glosses=glosses_in_use(setup)).encode()


def run_file(kind: Kind, setup: Setup, focus: InFocus) -> bytes:
    """Every stage of the run, with its names, axes and tokens, and this state's link."""
    return run_bytes(_saved_run(setup)[1], kind, urlencode(to_link(setup)[0], errors="surrogatepass"))


def _saved_panel(setup: Setup, focus: InFocus) -> Panel:
    lab, capture = _saved_run(setup)
    words = words_shown(lab, capture, focus.kind, focus)
    return head_panel(capture, focus.kind, focus.layer, focus.head, focus.item, focus.step, focus.colour, words)


def _saved_run(setup: Setup) -> tuple[Lab, Capture]:
    lab = shown_run(setup)
    if lab.capture is None:
        raise ValueError(_("The run of this setup can no longer be computed. Open the page again."))
    return lab, lab.capture
