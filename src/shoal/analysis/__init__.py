"""What runs tell beside each other: comparison, significance, advice, and a look at a federation before a run."""
