"""Setting up a run: settings are checked and resolved once, then everything is put together as a plan."""
