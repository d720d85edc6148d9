"""Layers of a network as blocks of a program: what every loss and every term stands on."""
