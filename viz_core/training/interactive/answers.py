"""The model's predictions on a visitor's sentence: answer probabilities at each position where the task expects an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from viz_core.analysis.ranking import largest_indices
from viz_core.analysis.token_rows import TokenRow
from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.generate import generate
from viz_core.generate.sampling import softmax
from viz_core.model.transformer import Transformer
from viz_core.text import Vocabulary
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.tasks import TaskInput
from viz_core.training.interactive.tasks.symbols import PAD

KEEP_STAGES = ("*.weights", "logits")  # stages that `read_answers` and the attention plots read
MAX_ANSWER_WORDS = 16  # answers with a column of their own
MAX_NEW_TOKENS = 16  # of a generated translation


@dataclass(frozen=True, slots=True)
class Answers:
    """The predictions at N positions.

    input_tokens [N]: the input token at each position. correct [N]: the correct answer, "" if unknown. predicted [N]: the most
    likely answer. answer_words [C]: the correct answers in the order of the positions, then other likely words. probabilities [N,
    C+1]: the last column is the sum over all other words, so that each row sums to 1.
    """

    input_tokens: tuple[str, ...]
    correct: tuple[str, ...]
    predicted: tuple[str, ...]
    answer_words: tuple[str, ...]
    probabilities: np.ndarray

    @property
    def n_known(self) -> int:
        """The number of positions whose correct answer is known."""
        return sum(bool(word) for word in self.correct)

    @property
    def n_correct(self) -> int:
        """The number of positions whose most likely answer is correct."""
        return sum(bool(right) and right == said for right, said in zip(self.correct, self.predicted, strict=True))


def read_answers(capture: Capture, sentence: TaskInput, vocabulary: Mapping[Side, Vocabulary], side: Side) -> Answers:
    """Read the predictions from a capture that kept `KEEP_STAGES`. side: the output side."""
    logits = np.asarray(capture["logits"][0], dtype=np.float64)  # [T, W]
    positions = np.arange(len(logits)) if sentence.answer_mask is None else np.flatnonzero(sentence.answer_mask)
    correct_ids = np.zeros(len(logits), dtype=np.int64) if sentence.labels is None else sentence.labels
    probs = softmax(logits[positions])  # [N, W]
    order = largest_indices(probs, 3)
    ranked = [int(i) for i in order.T.ravel()]  # the most likely answer of each position, then the second most likely
    answer_ids = list(dict.fromkeys([int(i) for i in correct_ids[positions] if i != PAD] + ranked))[:MAX_ANSWER_WORDS]
    rest = np.maximum(0.0, 1 - probs[:, answer_ids].sum(axis=1, keepdims=True))

    def word(id: int) -> str:
        return sentence.user_words.get(id) or vocabulary[side].decode(id)

    return Answers(
        tuple(sentence.tokens[side][t] for t in positions), tuple(word(int(i)) if i != PAD else "" for i in correct_ids[positions]),
        tuple(word(int(i)) for i in order[:, 0]), tuple(map(word, answer_ids)), np.hstack([probs[:, answer_ids], rest]),
    )


@dataclass(frozen=True, slots=True)
class SentenceRun:
    """A visitor's sentence as task input, the capture of a model's run on it (with `KEEP_STAGES`), and the predictions."""

    sentence: TaskInput
    capture: Capture
    answers: Answers

    def token_rows(self, side: Side) -> list[TokenRow]:
        """Return the positions of a side with their labels for plots."""
        return token_rows(self.sentence, self.answers, side)


def run_on_words(model: Transformer, recipe: Recipe, words: Sequence[str]) -> SentenceRun:
    """Run a trained model on a visitor's words, and let it generate the target where the task requires it. Raises `UserError` if
    the task can read none of the words."""
    sentence = recipe.task_definition.read_sentence(recipe.parameters, recipe.config, words)
    sentence = generate_target(model, sentence, recipe.vocabulary, MAX_NEW_TOKENS)
    capture = sentence.run_model(model, KEEP_STAGES)
    return SentenceRun(sentence, capture, read_answers(capture, sentence, recipe.vocabulary, recipe.config.output_side))


def token_rows(sentence: TaskInput, answers: Answers, side: Side) -> list[TokenRow]:
    """Return the positions of a side with their labels for plots. In a decoder, a position with an answer is labelled with the
    token after it; the last position with the correct answer or, if unknown, with the predicted one."""
    tokens = sentence.tokens[side]
    if side != "target":
        return [TokenRow(token) for token in tokens]
    has_answer = np.ones(len(tokens), dtype=bool) if sentence.answer_mask is None else sentence.answer_mask
    last_label = (answers.correct[-1] or answers.predicted[-1]) if answers.input_tokens else ""
    following = [*tokens[1:], last_label]
    return [TokenRow(token, label if has else None) for token, label, has in zip(tokens, following, has_answer, strict=True)]


def generate_target(
    model: Transformer, sentence: TaskInput, vocabulary: Mapping[Side, Vocabulary], max_new_tokens: int
) -> TaskInput:
    """Return the sentence with the target that the model generates word by word if the target is <bos> alone; otherwise the
    sentence unchanged."""
    target = sentence.ids.get("target")
    if target is None or "source" not in sentence.ids or target.shape[1] > 1:
        return sentence
    device, words = next(model.parameters()).device, vocabulary["target"]
    start, source = (torch.from_numpy(x).to(device) for x in (target, sentence.ids["source"]))
    training = model.training
    try:
        (generated,) = generate(model.eval(), start, source, eos_id=words.eos_id, max_new_tokens=max_new_tokens)
    finally:
        model.train(training)
    ids = {**sentence.ids, "target": np.array([[*target[0], *generated.ids]])}
    new_tokens = tuple(sentence.user_words.get(i) or words.decode(i) for i in generated.ids)
    return replace(sentence, ids=ids, tokens={**sentence.tokens, "target": (*sentence.tokens["target"], *new_tokens)})
