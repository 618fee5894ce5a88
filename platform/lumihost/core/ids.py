"""Public identifiers (``ses_…``): see :mod:`tenants.ids`, which tenancy needs and therefore owns."""

from tenants.ids import ALPHABET, MAX_LENGTH, new_id

__all__ = ["ALPHABET", "MAX_LENGTH", "new_id"]
