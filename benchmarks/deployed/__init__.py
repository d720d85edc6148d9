"""The parts of ``benchmarks/deploy.py``."""
