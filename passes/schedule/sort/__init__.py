"""Loop programs that sort."""
