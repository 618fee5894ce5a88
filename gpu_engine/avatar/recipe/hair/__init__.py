"""Hair of the presenters: where it grows, how it falls, what it is made of."""
