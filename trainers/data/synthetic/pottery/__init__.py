"""Photographs of painted pots that never existed: what the drawn world is made of."""
