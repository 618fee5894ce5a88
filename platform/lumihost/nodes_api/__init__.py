"""HTTP that nodes call with their own token; never public."""
