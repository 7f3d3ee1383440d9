"""The names of ccm's Python library, over the binary `helenus`."""
