"""Terms: what is asked of networks besides a small loss, one file each."""
