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
from viz_core.ui.shell.setup.controls import BY_FIELD, CONTROLS, MAX_D_MODEL, OF_WORDS, SIZES, WEIGHTLESS, Control
from viz_core.ui.shell.views import VIEWS
from viz_core.weights.card import UNTRAINED, Card
from viz_core.weights.catalogue import catalogue

OPENING = next(iter(PLANS))  # the weights that the app opens with: the first of the shipped checkpoints
DEFAULT_PRESET = "000"
DEFAULT_SOURCE = _("the cat sat on the mat")
DEFAULT_TARGET = "猫 坐在 垫子 上"
Tokens = TokenizerKind | Literal["ids"]  # "ids": the user types the numbers themselves
TOKENS = ("word", "character", "ids")
# Of the target: "model" only with weights that translate; "taken": as such weights wrote it, where the model does not translate.
Writer = Literal["model", "typed", "taken"]
WRITERS = ("model", "typed", "taken")
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
    """Everything that a link holds. `config` is that of the preset, or of the checkpoint, with the visitor's changes.

    Where the model writes the target, nothing is typed: `target` is then that of the weights' example, and the run reads
    what the model writes. Weights that do not translate leave the target to the visitor.

    A text is the sentence or its translation, whichever side the model reads it on (`sentence_side`). With another model each
    of them stands where that model reads it; one that the model does not read rests on the other side until some model does.

    Changes that the checkpoint's parameters do not fit leave it: the model is then untrained, but keeps the checkpoint's words.
    """

    checkpoint: str = UNTRAINED  # or the trained weights that were chosen: a name in the catalogue
    preset: str = DEFAULT_PRESET  # where no checkpoint was chosen
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
        if self.writer != "typed" and self.translates:
            object.__setattr__(self, "writer", "model")
            object.__setattr__(self, "target", self.default_texts[1])
        elif self.writer == "model" or (self.writer == "taken" and not (
                self.reads_translation and self.target not in ("", self.default_texts[1]))):
            object.__setattr__(self, "writer", "typed")

    @property
    def translates(self) -> bool:
        """Whether the model can write the target: trained weights of an encoder-decoder that read words."""
        return self.weights != UNTRAINED and self.config.has_cross_attention and self.tokenizer != "ids"

    @property
    def sentence_side(self) -> str:
        """The side that holds the sentence: the source, but the target of a decoder alone, unless it has a translator's words.

        The other side holds the translation of the sentence.
        """
        alone = not self.config.has_encoder and not (self.origin and self.base.has_encoder)
        return "target" if alone else "source"

    @property
    def reads_translation(self) -> bool:
        """Whether the model reads a translation, in its target."""
        return self.config.has_decoder and self.sentence_side == "source"

    @property
    def origin(self) -> Card | None:
        """The card of the checkpoint that was chosen, whose words the model reads even where its parameters do not fit."""
        return None if self.checkpoint == UNTRAINED else catalogue()[self.checkpoint]

    @property
    def card(self) -> Card | None:
        """The card of the trained weights that the model has; None where it is untrained."""
        origin = self.origin
        return None if origin is None or misfits(origin.config, self.config) else origin

    @property
    def weights(self) -> str:
        """The name of the trained weights that the model has, or "untrained"."""
        return UNTRAINED if self.card is None else self.checkpoint

    @property
    def base(self) -> TransformerConfig:
        """The config that changes start from: the model's own, that of the preset or of the checkpoint."""
        return PRESETS[self.preset].config if self.origin is None else self.origin.config

    @property
    def default_texts(self) -> tuple[str, str]:
        """The source and target that this model opens with."""
        return (DEFAULT_SOURCE, DEFAULT_TARGET) if self.origin is None else _example(self.origin)

    def view(self, name: str) -> Any:
        """The selection that a page keeps under a name in `VIEWS`."""
        return dict(self.views).get(name, VIEW[name].default)


def _example(card: Card) -> tuple[str, str]:
    """The first example of a card's language, or the untrained models' sentences; a decoder alone reads the one in English."""
    if card.examples:
        source, target = card.examples[0]
        return source, target
    return (DEFAULT_SOURCE, DEFAULT_TARGET) if card.config.has_encoder else ("", DEFAULT_SOURCE)


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


def misfits(own: TransformerConfig, config: TransformerConfig) -> list[str]:
    """The fields of a config that do not fit parameters trained with the config `own`. Fields without effect always fit."""
    both = [c for c in CONTROLS if c.when(own) and c.when(config)]
    return [c.field for c in both if c.value(own) != c.value(config) and _is_fixed(own, config, c.field)]


def _is_fixed(own: TransformerConfig, config: TransformerConfig, name: str) -> bool:
    """Whether parameters depend on a field: their shapes, how they are drawn, or what they mean."""
    if name == "position":
        return bool(config.scheme.parameter)  # what this scheme would have learned is missing
    if name == "max_len":
        return config.position == own.position and own.scheme.has_table and bool(own.scheme.parameter)
    return name not in WEIGHTLESS


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


def with_own_values(setup: Setup) -> Setup:
    """The model's own settings again; everything else stays."""
    return _with_config(setup, setup.base)


def with_fitting_values(setup: Setup) -> Setup:
    """The checkpoint again: the settings that no parameter depends on stay, unless they do not fit its own sizes."""
    own, present = setup.base, setup.config
    scheme = own.position if present.scheme.parameter else present.position
    there = config_or_none(own, {"position": scheme}) or own
    free = {name: getattr(present, name) for name in WEIGHTLESS if not _is_fixed(own, there, name)}
    return _with_config(setup, config_or_none(own, free | {"position": there.position}) or own)


def _with_config(setup: Setup, config: TransformerConfig) -> Setup:
    head = min(setup.attn_head, config.n_heads - 1)
    new = replace(setup, config=config, chosen=(), stage=_kept_stage(setup.stage, config), attn_head=head)
    if new.sentence_side != setup.sentence_side:
        return _with_texts_of(setup, new)
    if new.translates and not setup.translates and not _chosen(setup)[1]:
        return replace(new, writer="model")
    return new


def _with_base(setup: Setup, checkpoint: str, preset: str, config: TransformerConfig) -> Setup:
    stage = _kept_stage(setup.stage, config)
    new = replace(setup, checkpoint=checkpoint, preset=preset, config=config, chosen=(), stage=stage, attn_head=0)
    if new.tokenizer not in tokens(new):
        new = replace(new, tokenizer="word")
    return _with_texts_of(setup, new)


def _with_texts_of(setup: Setup, new: Setup) -> Setup:
    """Another model's setup with the text of this one, on the sides on which the new model reads it.

    Text that the visitor chose stays; what the old model opened with gives way to what the new one opens with. The target is
    left to weights that translate, unless the visitor chose it.
    """
    sentence, translation = _by_role(setup, (setup.source, setup.target))
    own_sentence, own_translation = _chosen(setup)
    if not (own_sentence or own_translation):
        sentence = _by_role(new, new.default_texts)[0]
    if not own_translation and not (setup.writer == "taken" and own_sentence and new.reads_translation):
        translation = _by_role(new, new.default_texts)[1]
    writer: Writer = "typed" if own_translation else "model" if new.translates else setup.writer
    source, target = _by_role(new, (sentence, translation))
    return replace(new, source=source, target=target, writer=writer)


def _by_role(setup: Setup, texts: tuple[str, str]) -> tuple[str, str]:
    """Source and target of this setup as the sentence and its translation, or these two as source and target."""
    return texts if setup.sentence_side == "source" else (texts[1], texts[0])


def _chosen(setup: Setup) -> tuple[bool, bool]:
    """Whether the visitor chose the sentence, and its translation: the model opens with another one, and no model wrote it."""
    now, first = (_by_role(setup, texts) for texts in ((setup.source, setup.target), setup.default_texts))
    sentence, translation = (bool(text.strip()) and text != own for text, own in zip(now, first, strict=True))
    with_its_translation = setup.writer == "taken" and setup.origin is None  # only what was chosen comes to a preset so
    return sentence or with_its_translation, setup.writer == "typed" and (setup.translates or translation)


def with_view(setup: Setup, **values: Any) -> Setup:
    """Other selections of a page. `ValueError` for one that the table does not allow."""
    kept = dict(setup.views)
    for name, value in values.items():
        kept[name] = VIEW[name].read(VIEW[name].write(value))
    return replace(setup, views=tuple(sorted((n, v) for n, v in kept.items() if v != VIEW[n].default)))


def tokens(setup: Setup) -> tuple[str, ...]:
    """The tokenizers that a setup may have: a checkpoint has its own words, which are no characters."""
    return TOKENS if setup.origin is None else tuple(t for t in TOKENS if t != "character")


def editable(setup: Setup, name: str) -> bool:
    """Whether a config field may be changed: a checkpoint's words keep their ids, so its vocabularies are fixed."""
    return setup.origin is None or name not in OF_WORDS


def offered(setup: Setup, control: Control) -> list[Any]:
    """The values of a control, and the model's own size where it fits, so that a visitor who changed it can go back.

    With a checkpoint only those architectures for which it has words: its decoder's words are no encoder's.
    """
    values, own = control.offered(setup.config), control.value(setup.base)
    if type(own) is int and own not in values and control.value(with_field(setup, control.field, own)[0].config) == own:
        values = sorted([*values, own])
    if control.field != "architecture" or setup.origin is None:
        return values
    there = set(setup.base.sides)
    return [value for value in values if there.issuperset(TransformerConfig(architecture=value).sides)]


def leaves(setup: Setup, name: str) -> bool:
    """Whether some value of a field does not fit the parameters of the setup's checkpoint."""
    if setup.origin is None or not editable(setup, name):
        return False
    own = setup.base
    return name == "position" or _is_fixed(own, own, name)


def with_field(setup: Setup, name: str, value: Any) -> tuple[Setup, list[str]]:
    """Change one config field; fields that no longer fit are adapted, each with a sentence that says so.

    A field that the parameters of a checkpoint do not fit leaves it, and its own value brings the checkpoint back.
    d_model and qk_dim are rounded from the last chosen value, so changing n_heads and changing it back restores them.
    """
    if not editable(setup, name) or (name == "architecture" and value not in offered(setup, BY_FIELD[name])):
        return setup, [_("{label} stays as it is: with {shown} the words of these weights would not have their ids.",
                         label=BY_FIELD[name].label, shown=BY_FIELD[name].shown(value))]
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
    rounded = tuple((f, v) for f, v in chosen.items() if v != values[f])
    return replace(_with_config(setup, TransformerConfig(**values)), chosen=rounded), notes


def _multiple(size: int, heads: int) -> int:
    """The multiple of the head count nearest to a size, within what is offered."""
    return min(max(1, round(size / heads)), MAX_D_MODEL // heads) * heads


def _kept_stage(stage: str, config: TransformerConfig) -> str:
    return stage if any(s.name == stage for s in stages(config)) else ""
