"""Lip-sync networks on a recorded loop of a person: manifest, loop, audio features, inference, paste-back."""
