"""`python -m shoal` does what `shoal` does."""

from shoal.cli.app import main

if __name__ == "__main__":
    main()
