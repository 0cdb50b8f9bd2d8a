"""What each instruction does, and the table of all."""
