"""Every error the package raises on purpose.

BDNNError
├── ModelError(ValueError)                      an option or architecture that makes no sense
├── DataError(ValueError)                       training or prediction data that cannot be used
├── ModelFileError(ValueError)                  a model file that cannot be trusted
├── SolverNotAvailableError(ImportError)        the solver's package or licence is missing
├── UnsupportedFeatureError(NotImplementedError, ValueError)
│                                               the chosen solver or method cannot do what is asked
├── NoSolutionError(RuntimeError)               a limit was reached before any network was found
└── InfeasibleError(ValueError)                 constraints that no network can keep

Messages are one sentence: what is wrong, what was received, what to do.
"""


class BDNNError(Exception):
    """Base class of all errors of this package."""


class ModelError(BDNNError, ValueError):
    """An option or architecture that makes no sense."""


class DataError(BDNNError, ValueError):
    """Data that cannot be used for training or prediction."""


class ModelFileError(BDNNError, ValueError):
    """A model file that is damaged, edited, foreign or of another version."""


class SolverNotAvailableError(BDNNError, ImportError):
    """A solver whose package or licence is missing."""


class UnsupportedFeatureError(BDNNError, NotImplementedError, ValueError):
    """Something the chosen solver or method cannot do."""


class NoSolutionError(BDNNError, RuntimeError):
    """A limit was reached before any network was found."""


class InfeasibleError(BDNNError, ValueError):
    """Constraints that no network can keep."""
