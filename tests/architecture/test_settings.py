"""Every setting is complete: what one lacks is named here, with the file where it belongs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.model.small import small
from viz_core.config import FIELDS, TransformerConfig
from viz_core.config.settings import LABELS, SETTINGS, Setting, never
from viz_core.messages.errors import SettingError
from viz_core.presets import DOCUMENTS
from viz_core.run import build
from viz_core.ui.shell.setup import CONTROLS, Setup, changed_fields, error_message, from_link, to_link

WHERE = "viz_core/config/settings.py"


def missing_in_settings(table: Mapping[str, Setting], fields: tuple[str, ...]) -> Iterator[str]:
    """What the table lacks, and what in it contradicts the config."""
    yield from (f"{WHERE} has no entry for the field {name!r} of TransformerConfig" for name in fields if name not in table)
    for name, setting in table.items():
        if name not in fields:
            yield f"viz_core/config/transformer_config.py has no field {name!r}, which {WHERE} has"
            continue
        if setting.check is None and not is_checked(name):
            yield f"{WHERE}: {name!r} has no check, and the config accepts any object as its value"
        yield from _missing_words(name, setting)


def _missing_words(name: str, setting: Setting) -> Iterator[str]:
    if setting.no_control:
        return
    yield from (f"{WHERE}: {name!r} has no {part}" for part in ("label", "help") if not str(getattr(setting, part)).strip())
    if setting.document and setting.document not in DOCUMENTS:
        yield f"{WHERE}: the help of {name!r} names the document {setting.document!r}, which there is not"
    choices = () if setting.check is None else setting.check.choices
    yield from (f"{WHERE}: LABELS has no label for {value!r} of {name!r}" for value in choices if value not in LABELS.get(name, {}))
    if not setting.offered(TransformerConfig()):
        yield f"{WHERE}: {name!r} offers no value, so it has no control"


def is_checked(name: str) -> bool:
    """Whether the config refuses a value of no kind that any field has."""
    try:
        replace(small(), **{name: object()})
    except SettingError as error:
        return error.field == name
    except TypeError:
        return False
    return False


def test_the_table_is_complete() -> None:
    gaps = "\n".join(missing_in_settings(SETTINGS, FIELDS))
    assert not gaps, gaps


@pytest.mark.parametrize(("change", "told"), [
    ({"label": ""}, "'norm' has no label"), ({"help": " "}, "'norm' has no help"),
    ({"options": lambda config: []}, "'norm' offers no value"), ({"document": "009"}, "the document '009', which there is not"),
    ({"check": replace(SETTINGS["norm"].check, choices=("post", "sandwich"))}, "LABELS has no label for 'sandwich' of 'norm'"),
], ids=lambda given: given if isinstance(given, str) else ",".join(given))
def test_what_an_entry_lacks_is_told(change: dict[str, Any], told: str) -> None:
    table = {**SETTINGS, "norm": replace(SETTINGS["norm"], **change)}
    assert any(told in gap for gap in missing_in_settings(table, FIELDS))


def test_a_field_without_an_entry_and_an_entry_without_a_field_are_told() -> None:
    rest = {name: setting for name, setting in SETTINGS.items() if name != "dropout"}
    assert list(missing_in_settings(rest, FIELDS)) == [f"{WHERE} has no entry for the field 'dropout' of TransformerConfig"]
    told = list(missing_in_settings({**SETTINGS, "gain": SETTINGS["norm"]}, FIELDS))
    assert told == [f"viz_core/config/transformer_config.py has no field 'gain', which {WHERE} has"]


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_checked_with_a_sentence(name: str) -> None:
    assert is_checked(name), f"{WHERE}: {name!r} accepts any object; give it a check"
    with pytest.raises(SettingError) as caught:
        replace(small(), **{name: object()})
    assert error_message(caught.value).endswith(".")


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.field)
def test_every_offered_value_is_valid_and_goes_through_a_link(control: Setting) -> None:
    setup = Setup()
    for value in control.offered(setup.config):
        try:
            other = replace(setup, config=replace(setup.config, **{control.field: value}))
        except SettingError as error:  # it does not fit another field
            assert error.code != "value", f"{WHERE}: {control.field!r} offers {value!r}, which its check refuses"
            continue
        params, __ = to_link(other)
        back, faults = from_link(params)
        same = control.value(back.config) == control.value(other.config)
        assert same and not faults, f"{control.field}={value!r} does not come back from the link {params}"
        assert changed_fields(other).keys() <= {control.field}


@pytest.mark.parametrize("control", [c for c in CONTROLS if c.changes_parameters is never], ids=lambda control: control.field)
def test_parameters_do_not_depend_on_what_says_so(control: Setting) -> None:
    own = build(small()).state_dict()
    for value in control.offered(small()):
        if control.field == "causal" or value != getattr(small(), control.field):
            other = build(replace(small(), **{control.field: value})).state_dict()
            same = own.keys() == other.keys() and all(torch.equal(own[name], other[name]) for name in own)
            assert same, f"{WHERE}: {control.field!r} says that it never changes parameters, and {value!r} does"


def test_fields_without_a_control_say_why() -> None:
    silent = [name for name, setting in SETTINGS.items() if setting.no_control and (setting.label or setting.help)]
    assert not silent, f"{WHERE}: {silent} have words for a control, and a reason to have none"
