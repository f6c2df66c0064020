"""The command line. A command parses, calls one function, prints; heavy imports happen inside commands."""
