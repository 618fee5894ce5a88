"""Lumihost: hosts that sell live around the clock, as a multi-tenant Django product."""
