"""Exploring a compilation: one page that leads from each line of a program to what became of it, and back."""
