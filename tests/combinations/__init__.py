"""All pairs of what a user may ask for: each works, or is refused for a reason."""
