"""The node agent: supervises engines, talks to the platform, survives both of them."""
