"""What iterations of a loop of compiled code hand on, and what they leave behind it."""
