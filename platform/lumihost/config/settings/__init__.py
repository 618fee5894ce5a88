"""One module per way of running: embedded (the default), production, test."""
