"""Runs: chats in tasks that no request owns, their events, and who may have how many."""
