"""Front ends of other people chat through the gateway, and what each makes of it is compared with a table."""
