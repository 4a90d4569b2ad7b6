"""Files of more than one picture: all heads as one offline page, and the whole run. A picture has its own Save menu."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from viz_core.capture import Capture
from viz_core.figures.offline import attention_page, most_bytes
from viz_core.language import translate as _
from viz_core.limits import MAX_EXPORT_BYTES, megabytes
from viz_core.presets import PRESETS
from viz_core.run_file import Kind, run_bytes
from viz_core.ui.pages.attention.focus import InFocus
from viz_core.ui.shell import Lab
from viz_core.ui.shell.run import glosses_in_use
from viz_core.ui.shell.setup import Setup, to_link
from viz_core.ui.shell.two_runs import shown_run


def save(setup: Setup, capture: Capture, focus: InFocus) -> None:
    """Offer all heads and the whole run as files, each made when somebody clicks it, if it is not too large.

    Streamlit calls the functions outside of any session and keeps them as long as the session. So each holds the setup
    and the focus, and fetches the run from the store instead of holding it.
    """
    files = (
        ("page", _("All heads, as a page without a network (HTML)"), page_file, "attention.html", "text/html", most_bytes(capture)),
        ("npz", _("The whole run (NumPy)"), partial(run_file, "npz"), "run.npz", "application/octet-stream", capture.nbytes),
        ("safetensors", _("The whole run (safetensors)"), partial(run_file, "safetensors"), "run.safetensors",
         "application/octet-stream", capture.nbytes),
    )
    with st.popover(_("Save"), icon=":material/download:", key="att_save"):
        for key, label, make, name, mime, nbytes in files:
            if nbytes > MAX_EXPORT_BYTES:
                st.caption(_("{label} would take up to {size}, and the limit is {limit}; shorten the text.", label=label,
                             size=megabytes(nbytes, 0), limit=megabytes(MAX_EXPORT_BYTES, 0)))
            else:
                data = partial(make, setup, focus)
                st.download_button(label, data, name, mime, key=f"att_save_{key}", on_click="ignore")
        st.caption(_("The page has the weights of all heads for this sentence, as pictures to click. A whole run has every tensor "
                     "of all sentences, with its name, its axes and its tokens. One picture alone is in its own Save menu."))


def page_file(setup: Setup, focus: InFocus) -> bytes:
    """All heads of the sentence in focus as a page of its own, which names the model."""
    __, capture = _saved_run(setup)
    here = (focus.kind, focus.layer, focus.head)
    model = PRESETS[setup.preset].title if setup.card is None else setup.card.title
    return attention_page(capture, focus.item, here, _("Attention: {model}", model=model), glosses=glosses_in_use(setup)).encode()


def run_file(kind: Kind, setup: Setup, focus: InFocus) -> bytes:
    """Every stage of the run, with its names, axes and tokens, and this state's link."""
    return run_bytes(_saved_run(setup)[1], kind, urlencode(to_link(setup)[0], errors="surrogatepass"))


def _saved_run(setup: Setup) -> tuple[Lab, Capture]:
    lab = shown_run(setup)
    if lab.capture is None:
        raise ValueError(_("The run of this setup can no longer be computed. Open the page again."))
    return lab, lab.capture
