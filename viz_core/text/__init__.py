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
from viz_core.text.showing import MAX_COMBINING_MARKS, SPACE_SYMBOL, in_quotes, bidi_isolated, shorten, display_token
from viz_core.text.splitting import split_characters, split_words
from viz_core.text.tokenizer import NO_TOKEN, SPECIALS, AnyTokenizer, UntrainedTokenizer, TokenizerKind, WordGroups, pad, group_words
from viz_core.text.vocabulary import Vocabulary, with_copied_words, find_copied_words, unknown_words

__all__ = [
    "MAX_COMBINING_MARKS", "NO_TOKEN", "SPACE_SYMBOL", "SPECIALS", "AnyTokenizer", "UntrainedTokenizer", "TokenizerKind", "Vocabulary", "WordGroups", "with_copied_words",
    "find_copied_words", "in_quotes", "is_content_word", "bidi_isolated", "pad", "shorten", "split_characters", "split_words", "unknown_words",
    "display_token", "group_words",
]
