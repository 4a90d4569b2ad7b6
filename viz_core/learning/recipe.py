"""Everything that a training run depends on, as one frozen record that is checked when it is made.

A recipe travels as JSON, in links and to the process that trains. `from_json` trusts nothing in it.
"""

import base64
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Self

from torch import Tensor

from viz_core.config import FIELDS, Side, TransformerConfig
from viz_core.learning.tasks import TASKS, Task
from viz_core.learning.tasks.task import checked_number
from viz_core.limits import MAX_LINK_BYTES, MAX_SEED, MAX_TRAINING_BATCH, MAX_TRAINING_LAYERS, MAX_TRAINING_STEPS
from viz_core.problems import Problem
from viz_core.text import Vocabulary

OF_THE_TASK = ("source_vocab_size", "target_vocab_size", "source_pad_id", "target_pad_id", "padding_from")
"""Settings that the task decides: a recipe takes them from there, and none of them stands in its JSON."""
WHOLE = {"batch": (1, MAX_TRAINING_BATCH), "steps": (1, MAX_TRAINING_STEPS), "warmup": (0, MAX_TRAINING_STEPS),
         "measured_every": (1, MAX_TRAINING_STEPS), "seed": (0, MAX_SEED), "data_seed": (0, MAX_SEED)}
RATES = {"learning_rate": (1e-8, 10.0)}
OPTIONAL = {"clip": (1e-6, 1e6), "target_loss": (0.0, 100.0)}
OPTIONAL_WHOLE = {"patience": (1, MAX_TRAINING_STEPS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One training run: the same recipe gives the same curve, bit for bit, on the same kind of device.

    `Problem`, one sentence, for a value that no run can have. Dropout is a setting of the config.
    """

    task: str
    parameters: Mapping[str, int] = field(default_factory=dict)  # of the task; those not given have its defaults
    config: TransformerConfig = field(default_factory=TransformerConfig)
    learning_rate: float = 1e-3
    warmup: int = 0  # steps in which the learning rate rises in a line
    decay: bool = False  # whether it falls in a line afterwards, to 0 behind the last step
    batch: int = 32
    steps: int = 500
    seed: int = 0  # of the initial weights and of dropout
    data_seed: int = 0
    clip: float | None = None  # the largest norm of the gradient
    measured_every: int = 25  # steps between two measurements on the held-out rows
    target_loss: float | None = None  # held-out loss at which the run stops
    patience: int | None = None  # measurements without a new best held-out loss after which it stops

    def __post_init__(self) -> None:
        if not isinstance(self.task, str) or self.task not in TASKS:
            raise Problem(f"task={_short(self.task)} is not one of the tasks; use {', '.join(TASKS)}.", "recipe_choice",
                          name="task", given=_short(self.task), fits=tuple(TASKS))
        if not isinstance(self.parameters, Mapping):
            raise _kind("parameters", self.parameters, "an object of names and whole numbers")
        if not isinstance(self.config, TransformerConfig):
            raise _kind("config", self.config, "an object of settings")
        if not isinstance(self.decay, bool):
            raise _kind("decay", self.decay, "true or false")
        _check_numbers(self)
        parameters = self.entry.parameters(self.parameters)
        object.__setattr__(self, "parameters", MappingProxyType(parameters))
        _check_model(self)
        sizes = {f"{side}_vocab_size": words.vocab_size for side, words in self.vocabulary.items()}
        pads = {"source_pad_id": 0, "target_pad_id": 0, "padding_from": "ids"}
        object.__setattr__(self, "config", replace(self.config, **sizes, **pads))  # type: ignore[arg-type]

    @property
    def entry(self) -> Task:
        """The task's entry in the registry."""
        return TASKS[self.task]

    @property
    def vocabulary(self) -> Mapping[Side, Vocabulary]:
        """The words of each side."""
        return self.entry.vocabulary(self.parameters, self.config.architecture)

    @property
    def floor(self) -> float | None:
        """The best reachable loss in nats, where it is known. Without a causal mask it is that of a model that sees the answers."""
        return self.entry.kind.floor(self.parameters, self.config.architecture, self.config.is_causal)

    @property
    def chance(self) -> float:
        """The loss of a guess among all answers of the task, in nats."""
        return math.log(self.entry.kind.answers(self.parameters))

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        up = (step + 1) / (self.warmup + 1) if step < self.warmup else 1.0
        down = (self.steps - step) / max(1, self.steps - self.warmup) if self.decay else 1.0
        return self.learning_rate * min(up, down)

    def rows(self, step: int) -> dict[str, Tensor]:
        """The batch of a step, counted from 0."""
        return self.entry.batch(self.parameters, self.config.architecture, self.data_seed, step, self.batch)

    def held_out(self) -> dict[str, Tensor]:
        """The rows that are measured."""
        return self.entry.held_out(self.parameters, self.config.architecture)

    def changed(self, changes: Mapping[str, Any]) -> "Recipe":
        """With other values: "steps", or "config.norm" and "parameters.length" for what stands inside."""
        own = {name: value for name, value in changes.items() if "." not in name}
        inside = {part: {n.partition(".")[2]: v for n, v in changes.items() if n.startswith(f"{part}.")}
                  for part in ("config", "parameters")}
        known = {*(f.name for f in fields(Recipe)), *(f"config.{name}" for name in FIELDS if name not in OF_THE_TASK)}
        if unknown := [n for n in changes if n not in known and not n.startswith("parameters.")]:
            raise _unknown(unknown[0], tuple(f.name for f in fields(Recipe)))
        config = replace(own.pop("config", self.config), **inside["config"])
        parameters = {**own.pop("parameters", self.parameters), **inside["parameters"]}
        return replace(self, config=config, parameters=parameters, **own)

    def to_json(self) -> str:
        """All that differs from a default config, and every other field."""
        plain = TransformerConfig()
        settings = {n: getattr(self.config, n) for n in FIELDS
                    if n not in OF_THE_TASK and getattr(self.config, n) != getattr(plain, n)}
        stored = {f.name: getattr(self, f.name) for f in fields(self)}
        return json.dumps(stored | {"config": settings, "parameters": dict(self.parameters)}, ensure_ascii=False, allow_nan=False)

    def to_link(self) -> str:
        """What a link says of it: its JSON without what follows from the task alone, packed into letters that need no escape."""
        said = json.loads(self.to_json())
        usual = {f.name: f.default for f in fields(self)} | {"config": {}, "parameters": self.entry.parameters({})}
        short = {name: value for name, value in said.items() if value != usual[name]}
        packed = zlib.compress(json.dumps(short, separators=(",", ":")).encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    @classmethod
    def from_link(cls, text: str) -> Self:
        """The recipe that a link names. `Problem`, one sentence, for anything that names none."""
        try:
            packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            unpacking = zlib.decompressobj()
            said = unpacking.decompress(packed, MAX_LINK_BYTES).decode()
            if not unpacking.eof:
                raise ValueError("cut off, or longer than any recipe")
        except (ValueError, zlib.error):  # UnicodeError and binascii.Error are ValueErrors
            raise Problem("this is no recipe of a training; copy the whole link again.", "recipe_text") from None
        return cls.from_json(said)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The recipe in a text from anywhere. `Problem`, one sentence, for anything that is none."""
        if not isinstance(text, str) or len(text) > MAX_LINK_BYTES:
            raise Problem(f"this recipe is longer than {MAX_LINK_BYTES} characters, or no text.", "recipe_text")
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError):
            raise Problem("this recipe is not JSON; copy the whole link again.", "recipe_text") from None
        if not isinstance(stored, dict) or "task" not in stored:
            raise Problem("this recipe is not a JSON object that names a task; copy the whole link again.", "recipe_text")
        names = tuple(f.name for f in fields(cls))
        if unknown := sorted(stored.keys() - set(names)):
            raise _unknown(unknown[0], names)
        return cls(**stored | {"config": _config(stored.get("config", {}))})


def _config(stored: Any) -> TransformerConfig:
    if not isinstance(stored, dict):
        raise _kind("config", stored, "an object of settings")
    allowed = tuple(name for name in FIELDS if name not in OF_THE_TASK)
    if unknown := sorted(stored.keys() - set(allowed)):
        raise _unknown(unknown[0], allowed)
    for name, x in stored.items():
        check_plain(name, x)
    settings: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in stored.items()}
    return TransformerConfig(**settings)


def check_plain(name: str, value: Any) -> None:
    """`Problem` for a value that no setting has: an object, or a list of anything but names."""
    if not (all(isinstance(one, str) for one in value) if isinstance(value, list | tuple) else not isinstance(value, Mapping)):
        raise _kind(name, value, "a number, a name, true or false, or a list of names")


def _check_numbers(r: Recipe) -> None:
    for name, (least, most) in WHOLE.items():
        checked_number(name, getattr(r, name), least, most, whole=True)
    for name, (low, high) in RATES.items():
        checked_number(name, getattr(r, name), low, high, whole=False)
    for name, (low, high) in OPTIONAL.items():
        if getattr(r, name) is not None:
            checked_number(name, getattr(r, name), low, high, whole=False)
    for name, (least, most) in OPTIONAL_WHOLE.items():
        if getattr(r, name) is not None:
            checked_number(name, getattr(r, name), least, most, whole=True)


def _check_model(r: Recipe) -> None:
    """What the task asks of the model, before anything of the model's size is made."""
    c, task = r.config, r.entry
    if c.architecture not in task.architectures:
        raise Problem(f"architecture={c.architecture!r} does not fit the task {r.task!r}; use {', '.join(task.architectures)}.",
                      "recipe_choice", name="architecture", given=c.architecture, fits=task.architectures)
    if not c.has_head:
        raise Problem("head=False leaves nothing to learn from; use head=True.", "recipe_choice", name="head", given="False",
                      fits=("True",))
    for side in c.sides:
        checked_number(f"{'n_encoder_layers' if side == 'source' else 'n_decoder_layers'}", c.n_layers(side), 0,
                       MAX_TRAINING_LAYERS, whole=True)
    longest = max(task.kind.lengths(r.parameters, c.architecture).values())
    if c.has_position_table and longest > c.max_len:
        raise Problem(f"max_len={c.max_len} is too short for {longest} tokens; raise max_len to {longest}.", "max_len",
                      max_len=c.max_len, tokens=longest)


def _unknown(name: object, fits: tuple[str, ...]) -> Problem:
    return Problem(f"a recipe has no {_short(name)}; it has {', '.join(fits)}.", "recipe_unknown", name=_short(name), fits=fits)


def _kind(name: str, value: object, due: str) -> Problem:
    return Problem(f"{name} is {_short(value)}; use {due}.", "recipe_kind", name=name, given=_short(value))


def _short(value: object) -> str:
    """A value as a message shows it, however long it is."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
