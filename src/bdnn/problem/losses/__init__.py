"""Losses: what a network's answers cost, one file each."""
