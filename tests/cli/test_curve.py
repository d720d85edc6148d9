"""``bdnn curve``."""

import json

import pytest

from tests.cli.runner import run
