"""The lip head: a small network that draws a speaking mouth on a recorded face, trained on rendered footage."""
