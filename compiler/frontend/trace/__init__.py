"""The function that is traced: its graph, its inputs, its dims."""
