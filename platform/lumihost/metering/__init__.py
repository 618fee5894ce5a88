"""The usage ledger: what was produced and accepted, charged once."""
