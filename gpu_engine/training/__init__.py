"""Recipes that train the small networks this engine ships; they need the ``[train]`` extra."""
