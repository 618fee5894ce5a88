"""The `lumihost` command."""
