"""What kernels run on: compilation and its cache, threads, atomics, random numbers."""
