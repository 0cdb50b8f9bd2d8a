"""How tensors are shown: the Eigen document's formats, and what a prompt or a notebook prints."""
