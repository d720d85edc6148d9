"""Encoders for tests."""

import numpy as np

from bdnn.encoding import Encoder


def make_encoder(shift, factor, step, scale="minmax", names=None):
    """Numbers that are scaled."""
    plain = Encoder.of_features(len(np.atleast_1d(shift)), names)
    return plain.scaled_by(shift, factor, step, scale)


def rescaled(encoder, shift=None, factor=None):
    """The same encoder with other shifts or factors."""
    shift = encoder.shift if shift is None else shift
    return encoder.scaled_by(
        shift, encoder.factor if factor is None else factor, encoder.step, encoder.scale
    )
