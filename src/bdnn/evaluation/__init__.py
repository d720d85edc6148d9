"""How good a model is, beside what else could be used; what to doubt, and what to do next."""
