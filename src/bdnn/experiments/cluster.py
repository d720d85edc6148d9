"""Workers on other machines: a Dask cluster as joblib's back end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bdnn.errors import DataError, UnsupportedFeatureError

_CONNECT_SECONDS = 15


@contextmanager
def dask_cluster(scheduler: str) -> Iterator[int]:
    """Send joblib's tasks to a Dask cluster and tell how many can run at a time.

    A task whose worker dies is run again on another one, which is the scheduler's doing.

    Parameters
    ----------
    scheduler : str
        Address such as ``tcp://10.0.0.5:8786``.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UnsupportedFeatureError(
            "the back end 'dask' needs the package distributed, which is not installed: run pip "
            "install 'bdnn[dask]'."
        ) from error
    import joblib

    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise DataError(
            f"no Dask scheduler answers at {scheduler!r}: start one with 'dask scheduler' and give "
            "the address that it prints."
        ) from error
    with client:
        slots = sum(client.nthreads().values())
        if slots == 0:
            raise DataError(
                f"the Dask scheduler at {scheduler!r} has no workers: start some with 'dask worker "
                f"{scheduler} --nthreads 1'."
            )
        with joblib.parallel_config(backend="dask", client=client):
            yield slots
