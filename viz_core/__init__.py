"""The Transformer of five documents, traced: one model, one table of stages, one capture of a run.

Public, for notebooks and other programs:

    run           run(config, source, target, ...) -> Capture; build, prepare, trace, with_config
    generate      write(model, source, ...): translate sentences; generate(model, ids, ...): continue ids, greedily, by sampling or
                  by beam search
    generation    its parts: sampling one token, beam search, the key-value cache, teacher forcing against free running
    config        TransformerConfig: all sizes and switches of the model
    presets       PRESETS: the model of each of the five documents
    capture       Capture: the activations of one run by name, with tokens and gradients; each stage as a DataFrame
    run_file      save_run, open_run: a whole run as one file
    tables        every table of the app as a DataFrame, for notebooks and CSV files
    stages        the stage table: name, axes, formula, inputs, meaning, and names in other libraries
    tracing       Tracer: records activations, edits them, keeps gradients
    text          tokenizers
    weights       catalogue(): the shipped checkpoints; checkpoints of Hugging Face
    analysis      numbers about configs and captures
    experiments   interventions: ablation, patching, masks, word order, parity with torch
    learning      interactive training: tasks, recipes, resumable runs, snapshots, experiments over several seeds
    jobs          training jobs on the server or on a Dask cluster
    figures       figures as data, and HTML pages with one figure
    notebook      show(capture, ...): the app's figures in a notebook

The layers, from the lowest to the highest (each imports only from those below it):

    0  config, activations, presets, stages, concepts, sources, limits, ...     the standard library only
    1  tidy, capture, run_file, text                                            numpy, pandas
    2  tracing                                                                  torch
    3  model/                                                                   the Transformer
    4  run, generate, generation/, experiments/, weights/, training/            text + config + weights -> Capture
    5  analysis/                                                                numbers about configs and captures
    5½ learning/                                                                recipe -> TrainingRun -> events and snapshots
    5¾ jobs/                                                                    recipe -> job: queue, workers, results
       tables                                                                   all of these as DataFrames
    6  figures/, notebook                                                       figures as data, and in a notebook
    7  ui/                                                                      Streamlit: components, shell, pages
"""

__all__ = [
    "analysis", "capture", "config", "experiments", "figures", "generate", "generation", "jobs", "learning", "notebook", "presets",
    "run", "run_file", "stages", "tables", "text", "tracing", "weights",
]
