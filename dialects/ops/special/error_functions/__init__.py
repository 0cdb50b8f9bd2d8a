"""The error function and its kin: the normal distribution, Dawson's and Fresnel's integrals, Voigt's profile."""
