"""Who may call, and how much: keys in a database, limits of requests, and quotas of what models use."""
