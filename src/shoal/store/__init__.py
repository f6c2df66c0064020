"""The run folder: config, records, checkpoints and models as files."""
