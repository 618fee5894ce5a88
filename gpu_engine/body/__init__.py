"""The clock-driven half of a session: pulls the timeline every frame, draws, encodes once, never waits."""
