"""``python -m bdnn``."""

from bdnn.cli import main

if __name__ == "__main__":
    main()
