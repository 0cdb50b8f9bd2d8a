"""Arrays made from nothing, from coordinates, or from parts of others."""
