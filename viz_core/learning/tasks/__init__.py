"""The learning tasks, one entry each. `tests/learning/test_tasks.py` reports what an entry lacks.

    task        a task, its parameters, its batches
    symbols     copy, reverse, sort, majority, induction
    markov      a word source whose entropy is known exactly
    language    sentences of a first lesson: translate, continue, fill in, restore
"""

from collections.abc import Mapping
from types import MappingProxyType

from viz_core.learning.tasks.language import Language
from viz_core.learning.tasks.markov import NextWord
from viz_core.learning.tasks.symbols import Induction, Question, copied, in_order, most_frequent, turned
from viz_core.learning.tasks.task import Bound, Parameters, Sentence, Task

__all__ = ["TASKS", "Bound", "Parameters", "Sentence", "Task"]

_LENGTH = Bound("Length", 12, 4, 60)
_SHORTEST = Bound("Shortest length in training; 0: always the full length", 0, 0, 60)
_SYMBOLS = Bound("Symbols", 20, 4, 64)
_ROWS: Mapping[str, Bound] = MappingProxyType({"length": _LENGTH, "shortest": _SHORTEST, "symbols": _SYMBOLS})
_SENTENCES: Mapping[str, Bound] = MappingProxyType({
    "sentences": Bound("Number of sentences", 4_000, 500, 8_000),
    "longest": Bound("Words in the longest sentence", 8, 4, 20),
})
_DAMAGED = MappingProxyType({**_SENTENCES, "damage": Bound("Words masked, deleted or replaced, in percent", 30, 5, 60)})

TASKS: Mapping[str, Task] = MappingProxyType({
    task.name: task for task in (
        Task(
            name="copy", title="Copy", question="Can it repeat its input?",
            architectures=("encoder-decoder", "decoder-only", "encoder-only"), bounds=_ROWS, kind=Question(copied),
        ),
        Task(
            name="reverse", title="Reverse", question="Can it output its input in reverse order?",
            architectures=("encoder-decoder", "decoder-only", "encoder-only"), bounds=_ROWS, kind=Question(turned),
        ),
        Task(
            name="sort", title="Sort", question="Can it sort symbols alphabetically?",
            architectures=("encoder-only", "encoder-decoder", "decoder-only"), bounds=_ROWS, kind=Question(in_order),
        ),
        Task(
            name="majority", title="Majority", question="Can it name the most frequent symbol?",
            architectures=("encoder-only", "encoder-decoder", "decoder-only"),
            bounds=MappingProxyType({
                "length": Bound("Length", 15, 8, 60), "shortest": _SHORTEST, "symbols": Bound("Symbols", 2, 2, 20),
            }),
            kind=Question(most_frequent, single=True),
        ),
        Task(
            name="induction", title="Induction", question="Can it find an earlier occurrence of a symbol and what followed it?",
            architectures=("decoder-only",),
            bounds=MappingProxyType({
                "length": Bound("Length", 32, 8, 120), "symbols": Bound("Symbols", 20, 4, 64),
                "repeat": Bound("Length of the repeated block; 0: a random one in each row", 0, 0, 60),
            }),
            kind=Induction(),
        ),
        Task(
            name="next-word", title="Next word", question="Can it predict each next word as well as the source allows?",
            architectures=("decoder-only", "encoder-only"),
            bounds=MappingProxyType({
                "length": Bound("Words per row", 16, 2, 100), "source": Bound("Seed of the word source", 0, 0, 99),
            }),
            kind=NextWord(),
        ),
        Task(
            name="translate", title="Translate", question="Can it translate simple English into Chinese?",
            architectures=("encoder-decoder",), bounds=_SENTENCES, kind=Language("translate"),
        ),
        Task(
            name="sentence", title="Next word of a sentence", question="Can it continue an English sentence, word by word?",
            architectures=("decoder-only", "encoder-only"), bounds=_SENTENCES, kind=Language("go on"),
        ),
        Task(
            name="fill-in", title="Fill in", question="Can it predict the masked words?",
            architectures=("encoder-only",), bounds=_DAMAGED, kind=Language("fill in"),
        ),
        Task(
            name="restore", title="Restore", question="Can it restore a sentence in which words were deleted or replaced?",
            architectures=("encoder-decoder",), bounds=_DAMAGED, kind=Language("restore"),
        ),
    )
})
"""By the name that a recipe uses, in the order of the page."""
