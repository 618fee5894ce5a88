"""From one photograph to an animatable head: advice before work starts, then landmarks, fit, texture, plates and a pack."""
