"""`python -m tui` is `spectop`."""

from tui.cli import main

if __name__ == "__main__":
    main()
