"""Which network suits a table: candidates of many kinds, compared by rows they have not seen."""
