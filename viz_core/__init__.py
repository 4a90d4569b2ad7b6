"""The Transformer of five documents, traced: one model, one stage table, one capture.

The floors, from the ground up (a floor imports only from floors below it):

    0  config, presets, stages, limits, sources    stdlib only
    1  capture, text                               numpy
    2  tracing                                     torch
    3  model/                                      reads as the textbook
    4  run, experiments, weights/, training/       text + config + weights -> Capture
    5  analysis/                                   numbers about captures
    6  figures/                                    pictures of captures
    7  ui/                                         the only Streamlit importer
"""
