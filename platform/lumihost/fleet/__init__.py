"""Machines that run engines: nodes, their tokens, heartbeats and who goes where."""
