"""How the host moves: the motion vocabulary, lips from phonemes, pose, blink, breathing, and the mixer."""
