"""Version 1 of the REST API; it only ever grows."""
