"""Products, FAQ and shop profile: every fact a host may state."""
