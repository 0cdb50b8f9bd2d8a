"""Maps: special functions, by family as the Digital Library of Mathematical Functions (DLMF) has its chapters."""
