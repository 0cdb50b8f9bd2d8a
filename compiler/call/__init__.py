"""What a call is: its arguments, the facts about them, and what it returns, as plain data."""
