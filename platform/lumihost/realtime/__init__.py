"""WebSockets of the console and of the nodes, and the calls that pass between them."""
