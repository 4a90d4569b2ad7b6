"""The Documents page: the five texts side by side, the errors in them, and links to their concepts."""

import html
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from viz_core.concepts import CONCEPTS, FAULTS, Concept, Fault, Place, Verdict, places
from viz_core.language import translate as _
from viz_core.presets import PRESETS, STATUS_TITLES, TOPIC_TITLES, TOPICS, Preset, PresetRow, Status
from viz_core.ui.escape import escaped
from viz_core.ui.shell import PAGES, below, change, current, look, picture, view_widget, write_link
from viz_core.ui.shell.setup import BY_FIELD, RESOLVED, Setup, changes, from_link, to_link, with_preset
from viz_core.ui.shell.written import taken_over

STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
# The tags differ in shape, not only in colour, and each contains its word.
STATUS_LOOK: dict[Status, tuple[str, str]] = {"stated": ("plain", ""), "repaired": ("strong", "◆ "), "assumed": ("dashed", "○ ")}
VERDICT_LOOK: dict[Verdict, tuple[str, str, str]] = {
    "cannot_run": ("strong", "✕ ", _("cannot run")), "differs": ("dashed", "≠ ", _("does something else")),
    "mistaken": ("plain", "¶ ", _("text is mistaken")),
}
DIFFERENCES = {"all": _("All"), "differ": _("Models differ"), "words": _("Only the wording differs"), "agree": _("All agree")}
MARKS = {"differ": _("≠ models differ"), "words": _("≈ only the wording differs"), "agree": _("= all agree")}


# ---------------------------------------------------------------- loading a preset


def presets() -> None:
    """Draw a button for each document's preset, and write which model is loaded."""
    setup = current()
    st.header(_("Load a document's model"), anchor=False)
    st.markdown(loaded_words(setup))
    with st.container(horizontal=True):
        for name, preset in PRESETS.items():
            here = is_loaded(setup, name) and not changes(setup)
            label = _("{title} is loaded", title=preset.title) if here else _("Load {title}", title=preset.title)
            st.button(label, key=f"documents_load_{name}", on_click=_load, args=(name,), disabled=here,
                      help=f"{preset.document.in_english}. {preset.summary}")


def is_loaded(setup: Setup, name: str) -> bool:
    """Whether the setup is based on this preset, with or without changes."""
    return setup.origin is None and setup.preset == name


def loaded_words(setup: Setup) -> str:
    """Return a sentence on the loaded model and the changes to it."""
    if setup.card is not None:
        return _("Loaded now are trained weights, **{title}**, which belong to none of the five documents.", title=setup.card.title)
    changed = ", ".join(escaped(BY_FIELD[name].label) for name in changes(setup))
    if setup.origin is not None:
        return _("Loaded now is an untrained model of none of the five documents: that of the weights **{title}**, with {changed} "
                 "changed.", title=setup.origin.title, changed=changed)
    how = _("with {changed} changed", changed=changed) if changed else _("as in its document")
    return _("Loaded now: **{title}**, {how}.", title=PRESETS[setup.preset].title, how=how)


def _load(name: str) -> None:
    setup = taken_over(current(), with_preset(current(), name))
    change(**{f.name: getattr(setup, f.name) for f in fields(setup)})


# ---------------------------------------------------------------- side by side


def _meaning(preset: Preset, row: PresetRow) -> Hashable:
    """Return the values of a row's config fields, with derived values resolved."""
    return tuple(getattr(preset.config, RESOLVED.get(name, name)) for name in TOPICS[row.topic])


def difference(topic: str) -> str:
    """Whether the five models differ in this topic, only their texts, or neither: "differ", "words", "agree"."""
    at = list(TOPICS).index(topic)
    models = {_meaning(p, p.rows[at]) for p in PRESETS.values()}
    return "differ" if len(models) > 1 else "words" if len({p.rows[at].value for p in PRESETS.values()}) > 1 else "agree"


@st.fragment
def side_by_side() -> None:
    """Draw the comparison table and its filter. As a fragment: a change of the filter reruns nothing else."""
    look(_("**Five texts explain the Transformer, and this app computes the model of each.** A bold cell differs from most of the "
           "others. Click a cell to read why."))
    counts = Counter(map(difference, TOPICS)) | Counter(all=len(TOPICS))
    with picture():
        place = st.container(key="documents_table")
    with below():
        chosen = view_widget(st.segmented_control, "documents_rows", _("Rows"), required=True, label_visibility="collapsed",
                             format_func=lambda which: f"{DIFFERENCES[which]} · {counts[which]}")
    setup = current()
    with place:
        st.html(page_html(comparison_html(chosen, next((n for n in PRESETS if is_loaded(setup, n)), None)), "docs fill"))
    st.html(page_html(f"<p>{legend_html()}</p>"))
    write_link()


def comparison_html(chosen: str = "all", loaded: str | None = None) -> str:
    """Return the table of topics × documents; a click on a cell opens its reason. loaded: the preset that is loaded."""
    titles = "".join(_title(preset, preset.name == loaded) for preset in PRESETS.values())
    lines = "".join(
        f'<tr><th scope="row">{html.escape(TOPIC_TITLES[topic])}<br>'
        f'<span class="tag plain">{MARKS[kind]}</span></th>{_cells(at)}</tr>'
        for at, topic in enumerate(TOPICS)
        if chosen in ("all", kind := difference(topic))
    )
    return (
        '<div class="box" role="region" aria-label="'
         + _("The five documents side by side")
         + '" tabindex="0"><table><thead><tr><th scope="col">'
         + _("Setting")
         + f"</th>{titles}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def legend_html() -> str:
    """Return the legend of the tags."""
    return _("{status_tag} in the text · {status_tag_2} because its code cannot run or contradicts the text · {status_tag_3} "
             "since the text does not show it · <b>bold</b>: differs from most",
             status_tag=status_tag("stated"), status_tag_2=status_tag("repaired"), status_tag_3=status_tag("assumed"))


def _title(preset: Preset, loaded: bool) -> str:
    d = preset.document
    own = f'<br><span lang="zh">{html.escape(d.heading)}</span>' if d.heading not in ("", d.called) else ""
    source = f"<br>{html.escape(d.source)}" if d.source else ""
    now = f"<br><b>{_('loaded now')}</b>"
    under = f'{html.escape(d.in_english)}{own}{source}{now if loaded else ""}'
    name = f"<b>{html.escape(d.called)}</b> ({d.number})"
    return f'<th scope="col"{" class=loaded" if loaded else ""}>{name}<br><span class="tag plain wrap">{under}</span></th>'


def _cells(at: int) -> str:
    """Return the cells of a row; those that differ from at least three others are bold."""
    rows = [p.rows[at] for p in PRESETS.values()]
    meanings = [_meaning(p, r) if difference(r.topic) == "differ" else r.value for p, r in zip(PRESETS.values(), rows, strict=True)]
    (usual, times), *__rest = Counter(meanings).most_common(1)
    return "".join(
        f'<td{" class=odd" if times >= 3 and meaning != usual else ""}><details><summary title="{html.escape(row.why)}">'
        f"<b>{html.escape(row.value)}</b> {status_tag(row.status)}</summary><p>{html.escape(row.why)}</p></details></td>"
        for row, meaning in zip(rows, meanings, strict=True)
    )


def status_tag(status: Status) -> str:
    """Return the tag of a status: stated, repaired or assumed."""
    return _tag(*STATUS_LOOK[status], STATUS_TITLES[status])


def _tag(look: str, sign: str, word: str) -> str:
    return f'<span class="tag {look}">{sign}{word}</span>'


# ---------------------------------------------------------------- errors and concepts


def faults() -> None:
    """Draw the section with the errors in the documents."""
    st.header(_("Errors in the printed code and text"), anchor=False)
    st.html(page_html(faults_html(_unfolded())))


def concepts() -> None:
    """Draw the section with a link to each concept and example of the documents."""
    st.header(_("Where to see the concepts of each text"), anchor=False)
    st.markdown(_("**{n_places} rows**, here and above, have a link. It opens what the row describes in this tab; Back returns "
                  "here.", n_places=len(list(places()))))
    st.html(page_html(concepts_html(_unfolded())))


def _unfolded() -> str:
    """Return the document whose rows are open initially: the loaded one, or else the first."""
    return next((name for name in PRESETS if is_loaded(current(), name)), next(iter(PRESETS)))


def faults_html(unfolded: str = "") -> str:
    """Return, by document, each printed error, its kind, what this app does instead, and a link to it."""
    heads = _heads("row fault", _("The document says"), _("Kind of error"), _("Here instead"))
    return "".join(_group(name, heads, [_fault(f) for f in FAULTS if f.document == name], name == unfolded) for name in PRESETS)


def concepts_html(unfolded: str = "") -> str:
    """Return, by document, each concept, a link to its page, and what to look at there."""
    heads = _heads("row", _("Concept"), _("Page"), _("What to look at there"))
    return "".join(_group(name, heads, [_concept(c) for c in CONCEPTS if c.document == name], name == unfolded) for name in PRESETS)


def _heads(kind: str, *titles: str) -> str:
    """Return the column headings. kind: the CSS class of the rows."""
    return f'<div class="{kind} heads" role="row">{"".join(f"<div role=columnheader>{html.escape(t)}</div>" for t in titles)}</div>'


def _group(document: str, heads: str, rows: Sequence[str], unfolded: bool) -> str:
    """Return the rows of one document in a <details> element."""
    title = f'{html.escape(PRESETS[document].title)} <span class="quiet">({len(rows)})</span>'
    listed = f'<div class="rows" role="table">{heads}{"".join(rows)}</div>'
    body = listed if rows else f'<p class="rows quiet">{_("None found.")}</p>'
    return f'<details class="group"{" open" if unfolded else ""}><summary>{title}</summary>{body}</details>'


def _fault(fault: Fault) -> str:
    verdict = _tag(*VERDICT_LOOK[fault.verdict])
    where = "<br>" + _("See {page}: {look}", page=_link(fault.document, fault.place),
                       look=html.escape(fault.place.look)) if fault.place else ""
    return (
        f'<div class="row fault" role="row"><div role="cell">{html.escape(fault.printed)}</div><div role="cell">{verdict}</div>'
        f'<div role="cell">{html.escape(fault.instead)}{where}</div></div>'
    )


def _concept(concept: Concept) -> str:
    return (
        f'<div class="row" role="row"><div role="cell">{html.escape(concept.text)}</div>'
        f'<div role="cell">{_link(concept.document, concept.place, concept.text)}</div>'
        f'<div class="quiet" role="cell">{html.escape(concept.place.look)}</div></div>'
    )


def _link(document: str, place: Place, about: str = "") -> str:
    label = html.escape(_("Open {title}: {about}", title=PAGES[place.page].title, about=about or place.look))
    return f'<a href="{html.escape(address(document, place))}" aria-label="{label}">{html.escape(PAGES[place.page].title)}</a>'


def setup_of(document: str, place: Place) -> tuple[Setup, Sequence[tuple[str, str]]]:
    """Return the setup of a link, with what to look at as its note, and the errors of the link, which should be none."""
    return from_link(_link_of(document, place))


def _link_of(document: str, place: Place) -> dict[str, str]:
    return {"preset": document, "note": place.look} | dict(place.state)


def address(document: str, place: Place) -> str:
    """Return the URL of a `PageLink` of a document, relative to any page."""
    query = _query(tuple(_link_of(document, place).items()))
    return ("./" if place.page == "home" else place.page) + (f"?{query}" if query else "")


@lru_cache(maxsize=256)
def _query(link: tuple[tuple[str, str], ...]) -> str:
    """Return the canonical query string: only what differs from an empty link. Cached, since defaults are constant."""
    return urlencode(to_link(from_link(dict(link))[0])[0])


def page_html(body: str, look: str = "docs") -> str:
    """Return HTML in this page's style and the theme's colours. css_class: of its <div>; "fill" fills the container."""
    colours = "; ".join(
        f"--{name}: light-dark({st.get_option(f'theme.light.{option}')}, {st.get_option(f'theme.dark.{option}')})"
        for name, option in (("paper", "backgroundColor"), ("link", "primaryColor"))
    )
    return f'<style>{STYLE}</style><div class="{look}" style="{colours}">{body}</div>'
