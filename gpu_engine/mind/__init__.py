"""What the host says and why: intent, retrieval, grounded answers, the last gate and the show director."""
