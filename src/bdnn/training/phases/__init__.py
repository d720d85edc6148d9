"""Parts of methods: bounds, searches, the program, and what follows a proof."""
