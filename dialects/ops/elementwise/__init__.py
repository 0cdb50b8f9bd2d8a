"""Maps: arithmetic, logic and the elementary functions."""
