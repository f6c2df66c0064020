"""What the papers print and how to run it here, a file for each paper."""
