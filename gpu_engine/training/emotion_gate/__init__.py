"""Trains the emotion gate on the labelled utterances beside this file."""
