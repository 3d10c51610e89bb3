"""Where tools come from: targets, connections, the pool of servers. No other client room imports FastMCP."""
