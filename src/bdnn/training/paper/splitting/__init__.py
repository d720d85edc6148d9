"""Parts of the data-splitting method: clusters, batches, and the problem of one epoch."""
