"""What tests share: one scripted server, one scripted model, one HTTP host, one clock. Nothing in here is a test."""
