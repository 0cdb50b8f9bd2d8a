"""`Tensor`: applying ops to tensors, their methods, views and memory.

`tensor` is the class and `apply` what makes new ones; `promotion` and `broadcasting` say of which dtype and shape.
"""
