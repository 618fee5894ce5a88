"""Where comments come from and which of them deserve an answer."""
