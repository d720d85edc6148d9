"""Which way to train suits a table: by held-out samples, and by what they have in common."""
