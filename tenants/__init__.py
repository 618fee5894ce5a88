"""Tenancy: who a row belongs to, who may touch it, and the base classes that make forgetting either impossible."""
