"""The live pages of `shoal ui`: all runs of a folder, read from their records, never written to."""
