"""Nothing is to be loaded before the module; the name is here because programs import it."""
