"""Live games: the quiz's protocol, a client for it, an adapter for a ready client."""
