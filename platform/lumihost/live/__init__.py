"""Channels, shows and live sessions: state machine, dispatch, reconciliation."""
