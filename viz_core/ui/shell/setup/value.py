"""One setup: everything that is typed, set and selected, as a frozen value; and the functions that change it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from viz_core.config import TransformerConfig
from viz_core.language import translate as _
from viz_core.position_schemes import SCHEMES
from viz_core.presets import PRESETS
from viz_core.stages import stages
from viz_core.text import TokenizerKind
from viz_core.training.plans import PLANS
from viz_core.ui.shell.setup.controls import BY_FIELD, CONTROLS, MAX_D_MODEL, SIZES, WEIGHTLESS, Control
from viz_core.ui.shell.views import VIEWS
from viz_core.weights.card import UNTRAINED, Card
from viz_core.weights.catalogue import catalogue

OPENING = next(iter(PLANS))  # the weights that the app opens with: the first of the shipped checkpoints
DEFAULT_PRESET = "000"
DEFAULT_SOURCE = _("the cat sat on the mat")
DEFAULT_TARGET = "猫 坐在 垫子 上"
Tokens = TokenizerKind | Literal["ids"]  # "ids": the user types the numbers themselves
TOKENS = ("word", "character", "ids")
Writer = Literal["model", "typed"]  # of the target: "model" only with weights that translate
WRITERS = ("model", "typed")
DEVICES = ("auto", "cpu", "cuda")
MAX_SEED = 2**31 - 1
TEXTS = ("source", "target")
# Notes about a setting that follows another one.
SPLITS = _("{setting} is now {value}: it splits into {heads} equal heads.")
SPLITS_AGAIN = _("{setting} is now {value}: this was chosen last, and it splits into equal heads again.")
PAIRED = _("{setting} is now {value}: RoPE rotates pairs of features.")
NOTHING_MASKED = _("{setting} is now {value}: no padding is masked.")
VIEW = {v.name: v for v in VIEWS}


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that a link holds. `config` is that of the preset, or of the trained weights, with the visitor's changes.

    Where the model writes the target, nothing is typed: `target` is then that of the weights' example, and the run reads
    what the model writes. Weights that do not translate leave the target to the visitor.
    """

    weights: str = UNTRAINED  # or a name in the catalogue
    preset: str = DEFAULT_PRESET  # where the weights are untrained
    config: TransformerConfig = field(default_factory=lambda: PRESETS[DEFAULT_PRESET].config)
    source: str = DEFAULT_SOURCE
    target: str = DEFAULT_TARGET
    tokenizer: Tokens = "word"
    seed: int = 0
    device: str = "auto"
    stage: str = ""  # "" is the first stage
    item: int = 0
    attn_head: int = 0
    views: tuple[tuple[str, Any], ...] = ()  # the selections of the pages that are not the default
    chosen: tuple[tuple[str, int | None], ...] = ()  # SIZES that were rounded, as chosen
    writer: Writer = "typed"  # who writes the target

    def __post_init__(self) -> None:
        if self.writer == "model":
            if self.translates:
                object.__setattr__(self, "target", self.default_texts[1])
            else:
                object.__setattr__(self, "writer", "typed")

    @property
    def translates(self) -> bool:
        """Whether the model can write the target: trained weights of an encoder-decoder that read words."""
        return self.weights != UNTRAINED and self.config.has_cross_attention and self.tokenizer != "ids"

    @property
    def card(self) -> Card | None:
        """The trained weights' card; None where they are untrained."""
        return None if self.weights == UNTRAINED else catalogue()[self.weights]

    @property
    def base(self) -> TransformerConfig:
        """The config that changes start from: that of the preset or of the trained weights."""
        return PRESETS[self.preset].config if self.card is None else self.card.config

    @property
    def default_texts(self) -> tuple[str, str]:
        """The source and target that these weights open with."""
        return (DEFAULT_SOURCE, DEFAULT_TARGET) if self.card is None else _example(self.card)

    def view(self, name: str) -> Any:
        """The selection that a page keeps under a name in `VIEWS`."""
        return dict(self.views).get(name, VIEW[name].default)


def _example(card: Card) -> tuple[str, str]:
    """The first example of a card's language, or the untrained models' sentences."""
    return tuple(card.examples[0]) if card.examples else (DEFAULT_SOURCE, DEFAULT_TARGET)  # type: ignore[return-value]


def opening() -> Setup:
    """The setup that an empty link opens."""
    return with_weights(Setup(), OPENING) if OPENING in catalogue() else Setup()


def changes(setup: Setup) -> dict[str, Any]:
    """The fewest config fields that, set on the base config, give this one."""
    base = setup.base
    found = {c.field: c.value(setup.config) for c in CONTROLS if getattr(setup.config, c.field) != getattr(base, c.field)}
    for name in list(found):  # leave out one that follows from the others
        rest = {f: v for f, v in found.items() if f != name}
        if _resolved(config_or_none(base, rest)) == _resolved(setup.config):
            found = rest
    return found


def _resolved(config: TransformerConfig | None) -> list[Any]:
    return [] if config is None else [c.value(config) for c in CONTROLS]


def config_or_none(base: TransformerConfig, fields: Mapping[str, Any]) -> TransformerConfig | None:
    """The base with these fields; None where they do not fit together."""
    try:
        return replace(base, **fields)
    except ValueError:
        return None


# ---------------------------------------------------------------- changing


def with_preset(setup: Setup, name: str) -> Setup:
    """Another document's model, untrained, on the same sentences."""
    return _with_base(setup, UNTRAINED, name, PRESETS[name].config)


def with_weights(setup: Setup, name: str) -> Setup:
    """Trained weights and the model they belong to, read with their own tokenizer."""
    return _with_base(setup, name, setup.preset, catalogue()[name].config)


def _with_base(setup: Setup, weights: str, preset: str, config: TransformerConfig) -> Setup:
    """Text that the visitor typed stays; example sentences are replaced by examples that the new weights know.

    The target is left to the new weights if they translate, unless the visitor has just taken it from others that do.
    """
    offered = {(DEFAULT_SOURCE, DEFAULT_TARGET), *(tuple(e) for card in catalogue().values() for e in card.examples)}
    own = (setup.source,) if setup.writer == "model" else (setup.source, setup.target)
    untouched = own in {texts[: len(own)] for texts in offered}
    writer: Writer = "typed" if setup.translates and setup.writer == "typed" else "model"
    stage = _kept_stage(setup.stage, config)
    tokenizer = "word" if weights != UNTRAINED and setup.tokenizer == "character" else setup.tokenizer
    new = replace(setup, weights=weights, preset=preset, config=config, chosen=(), stage=stage, attn_head=0,
                  tokenizer=tokenizer, writer=writer)
    source, target = new.default_texts
    return replace(new, source=source, target=target) if untouched else new


def with_view(setup: Setup, **values: Any) -> Setup:
    """Other selections of a page. `ValueError` for one that the table does not allow."""
    kept = dict(setup.views)
    for name, value in values.items():
        kept[name] = VIEW[name].read(VIEW[name].write(value))
    return replace(setup, views=tuple(sorted((n, v) for n, v in kept.items() if v != VIEW[n].default)))


def editable(setup: Setup, name: str) -> bool:
    """Whether a config field may be changed: with trained weights, only a field that no parameter depends on."""
    scheme = setup.base.scheme
    sizes_a_table = name == "max_len" and scheme.has_table and bool(scheme.parameter)
    return setup.card is None or (name in WEIGHTLESS and not sizes_a_table)


def offered(setup: Setup, control: Control) -> list[Any]:
    """The values of a control that the weights allow: a position scheme with parameters only if they contain these."""
    values = control.offered(setup.config)
    if control.field != "position" or setup.card is None:
        return values
    return [p for p in values if p == setup.base.position or not SCHEMES[p].parameter]


def with_field(setup: Setup, name: str, value: Any) -> tuple[Setup, list[str]]:
    """Change one config field; fields that no longer fit are adapted, each with a sentence that says so.

    d_model and qk_dim are rounded from the last chosen value, so changing n_heads and changing it back restores them.
    """
    values: dict[str, Any] = {f: getattr(setup.config, f) for f in TransformerConfig.__dataclass_fields__} | {name: value}
    chosen = {f: getattr(setup.config, f) for f in SIZES} | dict(setup.chosen) | ({name: value} if name in SIZES else {})
    values |= chosen
    notes: list[str] = []

    def follow(follower: str, new: Any, says: str) -> None:
        values[follower] = new
        if new != getattr(setup.config, follower):
            notes.append(says.format(setting=BY_FIELD[follower].label, value=BY_FIELD[follower].shown(new), heads=heads))

    heads = values["n_heads"]
    if values["d_model"] % heads:
        follow("d_model", _multiple(values["d_model"], heads), SPLITS)
    elif name != "d_model" and values["d_model"] != setup.config.d_model:
        follow("d_model", values["d_model"], SPLITS_AGAIN)
    width = (values["qk_dim"] or values["d_model"]) / heads
    if width % 1:
        follow("qk_dim", _multiple(values["qk_dim"], heads), SPLITS)
    if SCHEMES[values["position"]].enters == "queries and keys" and (values["qk_dim"] or values["d_model"]) // heads % 2:
        width = (values["qk_dim"] or values["d_model"]) // heads
        follow("qk_dim", (width + 1 if (width + 1) * heads <= MAX_D_MODEL else width - 1) * heads, PAIRED)
    if values["norm"] == "none":
        values["final_norm"] = None
    if values["architecture"] != "encoder-only":
        values["head"] = True
    if values["architecture"] == "decoder-only":
        values["n_segments"] = 0
    if not values["head"]:
        values["tie_output"] = False
    if values["architecture"] != setup.config.architecture:
        values["causal"] = None  # the default of the architecture
    padded = (values["architecture"] != "decoder-only" and values["mask_source_padding"]) or (
        values["architecture"] != "encoder-only" and values["mask_target_padding"]
    )
    if values["mask_padded_queries"] and not padded:
        follow("mask_padded_queries", False, NOTHING_MASKED)
    bound = [f for f, v in values.items() if v != getattr(setup.config, f) and not editable(setup, f)]
    if bound:
        control, changed = BY_FIELD[name], ", ".join(BY_FIELD[f].label if f in BY_FIELD else f for f in bound)
        return setup, [_("{label} stays as it is: {shown} would change {changed}, which the trained weights fix.",
                         label=control.label, shown=control.shown(value), changed=changed)]
    config = TransformerConfig(**values)
    rounded = tuple((f, v) for f, v in chosen.items() if v != values[f])
    head = min(setup.attn_head, config.n_heads - 1)
    return replace(setup, config=config, chosen=rounded, stage=_kept_stage(setup.stage, config), attn_head=head), notes


def _multiple(size: int, heads: int) -> int:
    """The multiple of the head count nearest to a size, within what is offered."""
    return min(max(1, round(size / heads)), MAX_D_MODEL // heads) * heads


def _kept_stage(stage: str, config: TransformerConfig) -> str:
    return stage if any(s.name == stage for s in stages(config)) else ""
