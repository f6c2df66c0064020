"""Experiments from Python: `run`, `resume` and `sweep`, and what a finished run can do."""
