"""The loop of a run: rounds are played, and what each left becomes its record."""
