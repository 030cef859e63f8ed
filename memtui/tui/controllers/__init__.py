"""What the acts of the registry do, by subject. Each controller knows the browse screen."""
