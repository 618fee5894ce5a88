"""The console's page, health and security of the web front."""
