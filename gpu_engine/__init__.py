"""The Lumihost engine: one digital-human show, as a library and a command, with no Django."""
