"""What people look into a compilation with: explain, profile, bisect, autotune, calibrate."""
