"""Arrays in chunks: programs whose axes are cut, Dask's arrays, arrays that are larger than memory."""
