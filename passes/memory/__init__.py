"""Memory: bufferization, liveness, the arena of temporaries."""
