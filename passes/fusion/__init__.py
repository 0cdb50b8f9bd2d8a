"""Fusion: tensor ops become loop nests, and nests that share iterations become one."""
