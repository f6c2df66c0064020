"""Playing the runs of cells, and what is kept of them."""
