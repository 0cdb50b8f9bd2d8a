"""Running on a GPU: a function's loops become kernels and a launch plan, which `GpuCode` runs on a device."""
