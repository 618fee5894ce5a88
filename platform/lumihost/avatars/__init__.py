"""Avatars and voices a show may use."""
