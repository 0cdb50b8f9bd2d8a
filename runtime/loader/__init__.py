"""From objects to callable code."""
