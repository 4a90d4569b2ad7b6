"""The sentence of each error that a user can meet, by its code: one table for all layers.

A row is the code, the names of the values (what stands in braces), and the sentence, which is translated when it is shown. Code
raises `UserError("tokens", number=2, …)`, or `SettingError` for a field of a config, which also gives `field` and `value`. A
sentence says what is wrong, with which value, and what to do.
"""

from collections.abc import Mapping
from types import MappingProxyType

from viz_core.messages import LazyText, lazy

MESSAGES: Mapping[str, LazyText] = MappingProxyType({
    # A setting
    "value": lazy("{field} cannot be {value}; choose {fits}."),
    "heads_split": lazy("{field} {value} does not split into {heads} equal heads; choose {fits}."),
    "pad_outside": lazy("{field} {value} is outside the vocabulary of {size} words; choose an id from 0 to {last}."),
    "odd_width": lazy("RoPE rotates pairs of features, and a head's query is {width} wide; choose an even width, as with qk_dim "
                      "{fits}."),
    "norm_missing": lazy("{field} has no effect in a model without LayerNorms; turn it off, or choose where the LayerNorms are."),
    "segments_without_encoder": lazy("{field} belong to an encoder, and this model has none; choose 0."),
    "logits_needed": lazy("{field} cannot be off in a model with a decoder, which ends in logits; turn it on."),
    "logits_missing": lazy("{field} needs the matrix of the vocabulary logits, which are off; turn the logits on, or {field} "
                           "off."),
    "padding_shown": lazy("{field} has no effect where no padding is masked; turn on the padding mask of a side first."),
    # A run
    "device": lazy("The device {device} is not on this machine; choose another device."),
    "sides_differ": lazy("There are {sources} source sentences and {targets} target sentences; type one target for each source."),
    "no_sentences": lazy("The model needs {side} sentences, and there are none; type at least one."),
    "sentences": lazy("There are {count} {side} sentences, and the limit is {limit}; remove some lines."),
    "not_a_sentence": lazy("Sentence {number} of the {side} is neither text nor ids; type words or whole numbers."),
    "no_text": lazy("There is nothing to read yet: type a sentence."),
    "no_tokens": lazy("Sentence {number} of the {side} has no tokens; type at least one word."),
    "tokens": lazy("Sentence {number} of the {side} has {count} tokens, and the limit is {limit}; shorten it."),
    "id_outside": lazy("The {side} id {id} is outside the vocabulary, which has the ids 0 to {last}."),
    "max_len": lazy("max_len {max_len} is too short for {tokens} tokens, because the position table ends there; raise max_len, "
                    "shorten the sentence, or choose positions without a table."),
    "run_file": lazy("The file {name} holds no run that this version can read ({reason}); save the run again."),
    "run_format": lazy("The file {name} does not end in {fits}; choose one of these formats."),
    "weights": lazy("These weights do not fit this model; undo the change."),
    "too_many_parameters": lazy("This model would have {count} parameters and the limit is {limit}: lower {remedies}."),
    "run_too_large": lazy("This run would record {size} and the limit is {limit}: lower {remedies}."),
    "server_too_small": lazy("This model and its recorded run would take {size} together, and this server keeps at most "
                             "{limit} ({variable}): lower {remedies}, or choose a smaller model."),
    "no_loss": lazy("grads=True needs a loss, and there is no next token to predict; give a head and at least two tokens."),
    # A training
    "recipe_text": lazy("This is not the recipe of a training; copy the whole link again."),
    "recipe_unknown": lazy("The recipe of this training has the unknown entry {name}; it can have {fits}."),
    "recipe_kind": lazy("The recipe of this training has {given} as {name}, which is another kind of value; copy the whole link "
                        "again."),
    "recipe_number": lazy("{name} cannot be {given}; choose a number from {least} to {most}."),
    "recipe_choice": lazy("{name} cannot be {given} in this training; choose {fits}."),
    "nothing_to_read": lazy("None of these words are in the vocabulary of the task; type others."),
    "no_length": lazy("This task has no setting for the length of its rows; choose another task."),
    "training_parameters": lazy("This model would have {count} parameters, and a training can have {limit}; lower d_model, d_ff or "
                                "the number of layers."),
    "training_bytes": lazy("This training would take {size}, and the limit is {limit}; lower the batch, the length or "
                           "the sizes."),
    "training_operations": lazy("This training would take {count} operations, and the limit is {limit}; lower the steps, the "
                                "batch, the length or the sizes."),
    "training_memory": lazy("The device {device} has too little memory for this training; lower the batch, the length or the "
                            "sizes."),
    "training_state": lazy("The stored state of this training cannot be read; start it again."),
    "measurement": lazy("The stored measurement of this experiment is damaged; measure the experiment again."),
    "measurement_recipe": lazy("The stored measurement {name} was made with another recipe than this experiment; measure it "
                               "again."),
    "guest_size": lazy("This file has {size}, and the limit is {limit}; open a smaller model."),
    "guest_file": lazy("This is not a file of weights that were trained in this app; download it again."),
    "experiment_arms": lazy("There are {count} values to compare; choose 2 to {most} different ones."),
    "experiment_seeds": lazy("Choose 1 to {most} different seeds from 0 to {largest}."),
    "experiment_fixed": lazy("An experiment cannot compare values of {name}, which is the same in all of its runs; choose another "
                             "factor."),
    # A training as a job of the server
    "jobs_waiting": lazy("{count} trainings are already in the queue of this server; try again later."),
    "own_jobs": lazy("You have {count} trainings in the queue or running; stop one first."),
    "no_scheduler": lazy("The scheduler {address} does not answer; start it, or correct the address."),
    "worker_died": lazy("The training process has ended unexpectedly; step {step} is stored, and the training can be resumed from "
                        "there."),
    "worker_silent": lazy("The training process did not respond and was stopped; step {step} is stored, and the training can be "
                          "resumed from there."),
    "training_failed": lazy("The training failed with the error {kind}; change its settings, or start it again."),
    # Writing
    "temperature_zero": lazy("The temperature cannot be 0, because the logits are divided by it; choose a temperature above 0, or "
                             "greedy decoding, which is the limit for a low temperature."),
    "no_distribution": lazy("The logits are infinite or NaN, so there are no probabilities to choose a word by; choose another "
                            "norm, mask fill or set of weights."),
    "cache_not_causal": lazy("Without the causal mask each new word changes all keys and values, so they cannot be cached; turn "
                             "the causal mask on."),
    "cache_fill": lazy("A mask fill of {fill} does not hide later words, so each new word changes the earlier keys and values, and "
                       "they cannot be cached; choose a lower mask fill."),
    "cache_padding": lazy("Padding inside the text is fully masked and then attends to all words equally, later ones too, so its "
                          "keys and values cannot be cached; choose zero for fully masked rows."),
    # An experiment
    "not_finite": lazy("Some outputs are infinite or NaN, so they cannot be compared; choose another norm or scale."),
    "no_attention": lazy("This model has no layers, so it has no attention; give it at least one layer."),
    "one_order": lazy("One token has only one order; type a second word."),
    "same_ids": lazy("Both orders give the model the same ids; choose words with different ids."),
    "nothing_in_front": lazy("Type at least one word to put in front."),
    "same_word": lazy("This word is already at this position of the {side}; choose another word."),
    "no_next_token": lazy("The text has no next token to predict; type a sentence of at least two words."),
    "patch_place": lazy("Token {at} is not a position that both runs have; choose another position."),
    "patch_no_head": lazy("This model has no vocabulary logits, so it gives no answer to explain; choose a model with logits."),
    "patch_no_site": lazy("This model has no such site, so B is shown without the patch; choose another site."),
    "patch_no_partner": lazy("Token {token} of A has no counterpart in B, so its value cannot be patched in; choose another "
                             "token."),
    "patch_equal": lazy("Both sentences give the model the same ids; change a word."),
    "patch_same_word": lazy("The question compares a word with itself; choose another word."),
    "patch_alike": lazy("Both runs give the same answer: the logit difference is {clean} in the clean run and {changed} in the "
                        "changed one. Choose another word, position or change."),
    "patch_no_pairs": lazy("No word of one sentence has a counterpart in the other, so no value of one run can be patched into the "
                           "other; change fewer words."),
    "patch_key": lazy("Token {at} of the {side} is not a key of this attention; choose another token."),
    "no_head_of_attention": lazy("This model has no such attention; choose another one."),
    "grammar_model": lazy("The generated sentences are for models that translate, and this one does not; choose a translator."),
    "grammar_none": lazy("In none of {count} sentences does replacing one word change the translation; choose a model that "
                         "translates."),
    "answer_empty": lazy("The answer is empty; type one word."),
    "answer_long": lazy("The answer {word}… has {count} characters; type one word."),
    "answer_tokens": lazy("The answer {word} is {count} tokens for this model; type one word that it knows."),
    "answer_similar": lazy("The word {word} is not in the vocabulary of this model; choose {fits}, or another word."),
    "answer_unknown": lazy("The word {word} is not in the vocabulary of this model; choose another word."),
    "tied": lazy("These weights were trained with another choice of Tied output; undo the change."),
})
REMEDY_NAMES: Mapping[str, LazyText] = MappingProxyType({  # what to lower in a run that is too large, for its `remedies`
    "vocab_size": lazy("the vocabulary size"), "d_ff": lazy("d_ff"), "n_heads": lazy("n_heads"), "qk_dim": lazy("qk_dim"),
    "d_model": lazy("d_model"), "words": lazy("the number of words in a sentence"), "sentences": lazy("the number of sentences"),
    "layers": lazy("the number of layers"),
})
