"""Views, gathers and scatters, control flow, and what else is no arithmetic."""
