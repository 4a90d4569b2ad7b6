"""The learning tasks, one entry each. `tests/training/interactive/test_tasks.py` reports what an entry lacks.

    task        a task, its parameters, its batches
    symbols     copy, reverse, sort, majority, induction
    markov      a word source whose entropy is known exactly
    language    simple sentences in two languages: translate, continue, fill in, restore
"""

from collections.abc import Mapping
from types import MappingProxyType

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

_LENGTH = ParameterRange("Length", 12, 4, 60)
_SHORTEST = ParameterRange("Shortest length in training; 0: always the full length", 0, 0, 60)
_SYMBOLS = ParameterRange("Symbols", 20, 4, 64)
_ROWS: Mapping[str, ParameterRange] = MappingProxyType({"length": _LENGTH, "shortest": _SHORTEST, "symbols": _SYMBOLS})
_SENTENCES: Mapping[str, ParameterRange] = MappingProxyType({
    "sentences": ParameterRange("Number of sentences", 4_000, 500, 8_000),
    "longest": ParameterRange("Words in the longest sentence", 8, 4, 20),
})
_DAMAGED = MappingProxyType({**_SENTENCES, "damage": ParameterRange("Words masked, deleted or replaced, in percent", 30, 5, 60)})

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            Task(
                name="copy",
                title="Copy",
                question="Can it repeat its input?",
                architectures=("encoder-decoder", "decoder-only", "encoder-only"),
                parameter_ranges=_ROWS,
                kind=SymbolTransform(copy_symbols),
            ),
            Task(
                name="reverse",
                title="Reverse",
                question="Can it output its input in reverse order?",
                architectures=("encoder-decoder", "decoder-only", "encoder-only"),
                parameter_ranges=_ROWS,
                kind=SymbolTransform(reverse_symbols),
            ),
            Task(
                name="sort",
                title="Sort",
                question="Can it sort symbols alphabetically?",
                architectures=("encoder-only", "encoder-decoder", "decoder-only"),
                parameter_ranges=_ROWS,
                kind=SymbolTransform(sort_symbols),
            ),
            Task(
                name="majority",
                title="Majority",
                question="Can it name the most frequent symbol?",
                architectures=("encoder-only", "encoder-decoder", "decoder-only"),
                parameter_ranges=MappingProxyType(
                    {
                        "length": ParameterRange("Length", 15, 8, 60),
                        "shortest": _SHORTEST,
                        "symbols": ParameterRange("Symbols", 2, 2, 20),
                    }
                ),
                kind=SymbolTransform(most_frequent_symbol, has_single_answer=True),
            ),
            Task(
                name="induction",
                title="Induction",
                question="Can it find an earlier occurrence of a symbol and what followed it?",
                architectures=("decoder-only",),
                parameter_ranges=MappingProxyType(
                    {
                        "length": ParameterRange("Length", 32, 8, 120),
                        "symbols": ParameterRange("Symbols", 20, 4, 64),
                        "repeat": ParameterRange("Length of the repeated block; 0: a random one in each row", 0, 0, 60),
                    }
                ),
                kind=Induction(),
            ),
            Task(
                name="next-word",
                title="Next word",
                question="Can it predict each next word as well as the source allows?",
                architectures=("decoder-only", "encoder-only"),
                parameter_ranges=MappingProxyType(
                    {
                        "length": ParameterRange("Words per row", 16, 2, 100),
                        "source": ParameterRange("Seed of the word source", 0, 0, 99),
                    }
                ),
                kind=NextWord(),
            ),
            Task(
                name="translate",
                title="Translate",
                question="Can it translate simple English into Chinese?",
                architectures=("encoder-decoder",),
                parameter_ranges=_SENTENCES,
                kind=SentenceTask("translate"),
            ),
            Task(
                name="sentence",
                title="Next word of a sentence",
                question="Can it continue an English sentence, word by word?",
                architectures=("decoder-only", "encoder-only"),
                parameter_ranges=_SENTENCES,
                kind=SentenceTask("go on"),
            ),
            Task(
                name="fill-in",
                title="Fill in",
                question="Can it predict the masked words?",
                architectures=("encoder-only",),
                parameter_ranges=_DAMAGED,
                kind=SentenceTask("fill in"),
            ),
            Task(
                name="restore",
                title="Restore",
                question="Can it restore a sentence in which words were deleted or replaced?",
                architectures=("encoder-decoder",),
                parameter_ranges=_DAMAGED,
                kind=SentenceTask("restore"),
            ),
        )
    }
)
"""By the name that a recipe uses, in the order of the page."""
