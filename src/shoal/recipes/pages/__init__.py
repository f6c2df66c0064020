"""Generated pages: of the papers, of their statements and items, and of what their code does."""
