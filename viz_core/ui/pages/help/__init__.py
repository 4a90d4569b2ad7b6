"""The page Help, which shows the documents of `viz_core/docs`."""
