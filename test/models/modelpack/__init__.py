"""Turns pinned packages into test models: a graph, inputs, reference outputs and tolerances."""
