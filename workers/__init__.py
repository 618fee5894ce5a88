"""The GPU node's side of Lumihost: wire contracts, Celery commands and the agent that supervises engines."""
