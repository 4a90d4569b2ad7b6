"""Text to token ids and back. Any Unicode text of any length can be tokenized.

    splitting            words and characters (grapheme clusters)
    tokenizer            the protocol of all tokenizers; the tokenizer of untrained models
    vocabulary           the tokenizer of a trained model, with slots for words outside its vocabulary
    word_segmentation    multi-piece words of a vocabulary
    spelling             suggestions for misspelt words
    token_alignment      the matching positions of two sentences
    answers              a typed answer as one id
    function_words       content words of an English sentence
    display              how a token is written on screen
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
