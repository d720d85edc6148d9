"""The methods of the paper: local search and data splitting."""
