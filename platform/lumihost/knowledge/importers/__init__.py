"""Reading the product files merchants really have: bytes → table → typed drafts with an error for every row left out."""
