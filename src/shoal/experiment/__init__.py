"""Running an experiment: settings, the loop, records, checkpoints, results."""
