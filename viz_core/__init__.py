"""The Transformer of five documents, traced: one model, one table of stages, one capture of a run.

Public, for notebooks and other programs:

    run           run(config, source, target, ...) -> Capture; build, prepare, trace, switched
    generate      write(model, source, ...): a translation; generate: the same for ids, greedy, sampled or by beam search
    generation    its parts: one word drawn, beam search, the key-value cache, teacher forcing against free running
    config        TransformerConfig: every size and switch of the model
    presets       PRESETS: the model of each of the five documents
    capture       Capture: the arrays of one run by name, their tokens and gradients; each stage as a DataFrame
    run_file      save_run, open_run: a whole run as one file
    tables        DataFrames: every table of the app, for notebooks and CSV files
    stages        the table of stages: name, axes, formula, inputs, meaning, names elsewhere
    tracing       Tracer, which records, edits and keeps gradients
    text          tokenizers
    weights       catalogue(): the shipped checkpoints; checkpoints of Hugging Face
    analysis      numbers about configs and captures
    experiments   runs with something changed, and what follows
    learning      training step by step: tasks, recipes, runs, what is kept of them, and experiments over several seeds
    jobs          trainings as jobs of a server, or of a cluster
    figures       pictures as data, and pages with one picture
    notebook      show(capture, ...): the app's pictures in a notebook

The layers, from the lowest to the highest (each imports only from those below it):

    0  config, activations, presets, stages, concepts, sources, limits, ...     the standard library only
    1  tidy, capture, run_file, text                                            numpy, pandas
    2  tracing                                                                  torch
    3  model/                                                                   the Transformer
    4  run, generate, generation/, experiments/, weights/, training/            text + config + weights -> Capture
    5  analysis/                                                                numbers about configs and captures
    5½ learning/                                                                recipe -> TrainingRun -> events and moments
    5¾ jobs/                                                                    recipe -> job: queue, workers, what is kept
       tables                                                                   all of these as DataFrames
    6  figures/, notebook                                                       pictures as data, and in a notebook
    7  ui/                                                                      Streamlit: components, shell, pages
"""

__all__ = [
    "analysis", "capture", "config", "experiments", "figures", "generate", "generation", "jobs", "learning", "notebook", "presets",
    "run", "run_file", "stages", "tables", "text", "tracing", "weights",
]
