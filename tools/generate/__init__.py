"""Write generated/, the exported test vectors and the pages of the site."""
