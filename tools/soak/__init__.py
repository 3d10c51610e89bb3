"""Run one client among honest and hostile peers for a while, and judge whether the honest chats notice."""
