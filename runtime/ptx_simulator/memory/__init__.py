"""The memories of a device, and what accesses of them are checked for."""
