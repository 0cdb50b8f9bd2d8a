"""Maps: arithmetic, logic and rounding, and conversions."""
