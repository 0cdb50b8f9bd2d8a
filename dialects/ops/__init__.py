"""The operations, each declared once; importing this package fills the registry."""
