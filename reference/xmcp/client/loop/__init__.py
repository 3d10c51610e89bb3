"""One chat: ask the model, run the tool calls of its turn, ask again (spec chapter 11)."""
