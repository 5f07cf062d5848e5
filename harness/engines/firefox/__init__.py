"""Firefox, steered through Marionette: what is proof is read in its own process, which no page reaches."""
