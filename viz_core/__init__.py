"""The Transformer of five documents, traced: one model, one table of stages, one capture of a run.

The layers, from the lowest to the highest (each imports only from those below it):

    0  config, presets, stages, concepts, sources, limits, memory, word_list    the standard library only
    1  capture, text                                                            numpy
    2  tracing                                                                  torch
    3  model/                                                                   the Transformer
    4  run, experiments/, weights/, training/                                   text + config + weights -> Capture
    5  analysis/                                                                numbers about configs and captures
    6  figures/                                                                 pictures as data
    7  ui/                                                                      Streamlit: components, shell, pages
"""
