"""Values of which compiled code decides which there is: arrays, numbers of several types, and anything else."""
