"""Text to token ids and back. What people type is data: any Unicode, any length, nothing is lost or refused.

    splitting    where words and characters begin and end
    tokenizer    what every tokenizer does; the ids of a model without training
    vocabulary   the words of a trained model, and slots that carry the words that it does not know
    pairing      which token of one sentence stands for which of another
    answers      a typed answer as one id
    function_words   which words of an English sentence are content words
    showing      how a token is drawn
"""

from viz_core.text.function_words import is_content_word
from viz_core.text.showing import MOST_MARKS, SPACE, in_quotes, isolated, shorten, visible
from viz_core.text.splitting import split_characters, split_words
from viz_core.text.tokenizer import NO_TOKEN, SPECIALS, AnyTokenizer, Tokenizer, TokenizerKind, Words, pad, words_of
from viz_core.text.vocabulary import Vocabulary, bound, carried_words, strangers

__all__ = [
    "MOST_MARKS", "NO_TOKEN", "SPACE", "SPECIALS", "AnyTokenizer", "Tokenizer", "TokenizerKind", "Vocabulary", "Words", "bound",
    "carried_words", "in_quotes", "is_content_word", "isolated", "pad", "shorten", "split_characters", "split_words", "strangers",
    "visible", "words_of",
]
