"""The figures of the papers from our runs, for the docs and for pages of HTML."""
