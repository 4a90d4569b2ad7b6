"""The learning tasks, one entry each. `tests/training/interactive/test_tasks.py` reports what an entry lacks.

    task        a task, its parameters, its batches
    symbols     copy, reverse, sort, majority, induction
    markov      a word source whose entropy is known exactly
    language    simple sentences in two languages: translate, continue, fill in, restore
"""

from collections.abc import Mapping
from types import MappingProxyType

from viz_core.messages import lazy
from viz_core.training.interactive.tasks.language import SentenceTask
from viz_core.training.interactive.tasks.markov import NextWord
from viz_core.training.interactive.tasks.symbols import (
    Induction,
    SymbolTransform,
    copy_symbols,
    most_frequent_symbol,
    reverse_symbols,
    sort_symbols,
)
from viz_core.training.interactive.tasks.task import ParameterRange, Parameters, Task, TaskInput

__all__ = ["TASKS", "ParameterRange", "Parameters", "Task", "TaskInput"]

_LENGTH = ParameterRange(lazy("Length"), 12, 4, 60)
_SHORTEST = ParameterRange(lazy("Shortest length in training; 0: always the full length"), 0, 0, 60)
_SYMBOLS = ParameterRange(lazy("Symbols"), 20, 4, 64)
_ROWS: Mapping[str, ParameterRange] = MappingProxyType({"length": _LENGTH, "shortest": _SHORTEST, "symbols": _SYMBOLS})
_SENTENCES: Mapping[str, ParameterRange] = MappingProxyType({
    "sentences": ParameterRange(lazy("Number of sentences"), 4_000, 500, 8_000),
    "longest": ParameterRange(lazy("Words in the longest sentence"), 8, 4, 20),
})
_DAMAGED = MappingProxyType({**_SENTENCES, "damage": ParameterRange(lazy("Words masked, deleted or replaced, in "
                                                                         "percent"), 30, 5, 60)})

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            Task(
                name="copy",
                title=lazy("Copy"),
                question=lazy("Can it repeat its input?"),
                architectures=("encoder-decoder", "decoder-only", "encoder-only"),
                parameter_ranges=_ROWS,
                kind=SymbolTransform(copy_symbols),
            ),
            Task(
                name="reverse",
                title=lazy("Reverse"),
                question=lazy("Can it output its input in reverse order?"),
                architectures=("encoder-decoder", "decoder-only", "encoder-only"),
                parameter_ranges=_ROWS,
                kind=SymbolTransform(reverse_symbols),
            ),
            Task(
                name="sort",
                title=lazy("Sort"),
                question=lazy("Can it sort symbols alphabetically?"),
                architectures=("encoder-only", "encoder-decoder", "decoder-only"),
                parameter_ranges=_ROWS,
                kind=SymbolTransform(sort_symbols),
            ),
            Task(
                name="majority",
                title=lazy("Majority"),
                question=lazy("Can it name the most frequent symbol?"),
                architectures=("encoder-only", "encoder-decoder", "decoder-only"),
                parameter_ranges=MappingProxyType(
                    {
                        "length": ParameterRange(lazy("Length"), 15, 8, 60),
                        "shortest": _SHORTEST,
                        "symbols": ParameterRange(lazy("Symbols"), 2, 2, 20),
                    }
                ),
                kind=SymbolTransform(most_frequent_symbol, has_single_answer=True),
            ),
            Task(
                name="induction",
                title=lazy("Induction"),
                question=lazy("Can it find an earlier occurrence of a symbol and what followed it?"),
                architectures=("decoder-only",),
                parameter_ranges=MappingProxyType(
                    {
                        "length": ParameterRange(lazy("Length"), 32, 8, 120),
                        "symbols": ParameterRange(lazy("Symbols"), 20, 4, 64),
                        "repeat": ParameterRange(lazy("Length of the repeated block; 0: a random one in each row"), 0, 0, 60),
                    }
                ),
                kind=Induction(),
            ),
            Task(
                name="next-word",
                title=lazy("Next word"),
                question=lazy("Can it predict each next word as well as the source allows?"),
                architectures=("decoder-only", "encoder-only"),
                parameter_ranges=MappingProxyType(
                    {
                        "length": ParameterRange(lazy("Words per row"), 16, 2, 100),
                        "source": ParameterRange(lazy("Seed of the word source"), 0, 0, 99),
                    }
                ),
                kind=NextWord(),
            ),
            Task(
                name="translate",
                title=lazy("Translate"),
                question=lazy("Can it translate simple English into Chinese?"),
                architectures=("encoder-decoder",),
                parameter_ranges=_SENTENCES,
                kind=SentenceTask("translate"),
            ),
            Task(
                name="sentence",
                title=lazy("Next word of a sentence"),
                question=lazy("Can it continue an English sentence, word by word?"),
                architectures=("decoder-only", "encoder-only"),
                parameter_ranges=_SENTENCES,
                kind=SentenceTask("go on"),
            ),
            Task(
                name="fill-in",
                title=lazy("Fill in"),
                question=lazy("Can it predict the masked words?"),
                architectures=("encoder-only",),
                parameter_ranges=_DAMAGED,
                kind=SentenceTask("fill in"),
            ),
            Task(
                name="restore",
                title=lazy("Restore"),
                question=lazy("Can it restore a sentence in which words were deleted or replaced?"),
                architectures=("encoder-decoder",),
                parameter_ranges=_DAMAGED,
                kind=SentenceTask("restore"),
            ),
        )
    }
)
"""By the name that a recipe uses, in the order of the page."""
