"""The newest snapshot of every live session, in memory."""
