"""Wire types that the platform and a node share; nothing here opens a file or a socket."""
