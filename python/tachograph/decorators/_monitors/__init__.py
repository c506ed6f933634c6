"""How a call or block is watched, and what is made of what was seen."""
