"""What may be wrong with memories: findings for a person to judge, never acted on by themselves."""
