"""What mind, body and outlet share: the show's spec, the timeline, the media clock, packets and local links."""
