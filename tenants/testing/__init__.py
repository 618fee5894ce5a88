"""Two-tenant fixtures and the isolation walker, shared by every test area."""
